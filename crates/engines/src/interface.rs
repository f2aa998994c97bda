//! `interface! { struct Interface; name(…) -> …; … }`: a struct of a library's functions, by name.

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
                        // SAFETY: the name and the type are those of the library's header.
                        $name: unsafe { *library.get(concat!(stringify!($name), "\0").as_bytes())? },
                    )*
                    _library: library,
                })
            }
        }
    };
}

pub(crate) use interface;
