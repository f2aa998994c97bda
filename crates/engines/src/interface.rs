//! A library's functions, found by their names when it is loaded: `interface! { struct Interface; name(…) -> …; … }`
//! makes a struct of them. Unsafe code is allowed where it is used, and not here.

macro_rules! interface {
    ($visible:vis struct Interface; $($name:ident($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        /// The functions, by the library's own names.
        $visible struct Interface {
            $($visible $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
            /// They live as long as this does.
            _library: libloading::Library,
        }

        impl Interface {
            fn of(library: libloading::Library) -> Result<Self, libloading::Error> {
                Ok(Self {
                    $(
                        // SAFETY: the name and its type are those of the library's own header.
                        $name: unsafe { *library.get(concat!(stringify!($name), "\0").as_bytes())? },
                    )*
                    _library: library,
                })
            }
        }
    };
}

pub(crate) use interface;
