//! The state of one client: variables and random numbers.

use fastrand::Rng;

use super::arguments::UnreadableDefinition;
use super::cursor::is_name;
use super::names::Name;
use super::value::Value;
use super::wrong::ValueError;

/// It outlives a script: the next one finds the variables that the last one set.
#[derive(Clone, Debug)]
pub struct Session {
    /// Indexed by name number.
    variables: Vec<Option<Variable>>,
    dice: Rng,
}

#[derive(Clone, Debug)]
enum Variable {
    Value(Value),
    /// From outside: sent as it is, and parsed once an expression needs it.
    Text(String),
}

#[derive(Clone, Copy, Debug)]
pub enum Parameter<'a> {
    Value(Value),
    Text(&'a str),
}

impl Parameter<'_> {
    /// False for NULL, which writes nothing.
    pub fn write(self, into: &mut Vec<u8>) -> bool {
        match self {
            Self::Value(value) => value.write(into),
            Self::Text(text) => {
                into.extend_from_slice(text.as_bytes());
                true
            }
        }
    }

    pub fn text(self) -> Option<String> {
        match self {
            Self::Value(value) => value.text(),
            Self::Text(text) => Some(text.to_owned()),
        }
    }
}

/// pgbench's variables for every client: client number, scale, the run's seed, and the seed of hash
/// functions, which all clients of a run share.
pub fn presets(seed: u64, client: u32, scale: u32) -> [(&'static str, Value); 4] {
    let default_seed = Rng::with_seed(seed).u64(..).cast_signed();
    [
        ("client_id", Value::Integer(client.into())),
        ("default_seed", Value::Integer(default_seed)),
        ("random_seed", Value::Integer(seed.cast_signed())),
        ("scale", Value::Integer(scale.into())),
    ]
}

impl Session {
    /// Clients with the same seed draw the same numbers.
    pub fn new(seed: u64, presets: &[(&str, Value)]) -> Self {
        let mut session = Self { variables: Vec::new(), dice: Rng::with_seed(seed) };
        for (name, value) in presets {
            session.set(Name::of(name), *value);
        }
        session
    }

    pub fn define(&mut self, name: &str, text: &str) -> Result<(), ValueError> {
        if !is_name(name) {
            return Err(ValueError::Name(UnreadableDefinition::NoName(name.to_owned()).into()));
        }
        self.put(Name::of(name), Variable::Text(text.to_owned()));
        Ok(())
    }

    pub(super) fn set(&mut self, name: Name, value: Value) {
        self.put(name, Variable::Value(value));
    }

    fn put(&mut self, name: Name, variable: Variable) {
        let number = name.number();
        if number >= self.variables.len() {
            self.variables.resize(number + 1, None);
        }
        self.variables[number] = Some(variable);
    }

    #[inline]
    pub(super) fn value(&self, name: Name) -> Result<Value, ValueError> {
        match self.find(name)? {
            Variable::Value(value) => Ok(*value),
            Variable::Text(text) => {
                Value::read(text).map_err(|why| ValueError::Of(name.text().into(), why.into()))
            }
        }
    }

    pub(super) fn parameter(&self, name: Name) -> Result<Parameter<'_>, ValueError> {
        Ok(match self.find(name)? {
            Variable::Value(value) => Parameter::Value(*value),
            Variable::Text(text) => Parameter::Text(text),
        })
    }

    #[inline]
    fn find(&self, name: Name) -> Result<&Variable, ValueError> {
        let variable = self.variables.get(name.number()).and_then(Option::as_ref);
        variable.ok_or_else(|| self.lacks(name))
    }

    #[cold]
    fn lacks(&self, name: Name) -> ValueError {
        let numbered = self.variables.iter().enumerate();
        let set = numbered.filter(|(_, variable)| variable.is_some());
        let mut known: Vec<_> =
            set.map(|(number, _)| format!(":{}", Name::numbered(number).text())).collect();
        known.sort_unstable();
        ValueError::Unset(name.text().into(), known.join(", ").into())
    }

    pub(super) fn dice(&mut self) -> &mut Rng {
        &mut self.dice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_sent_as_they_came_and_values_as_they_are_computed() {
        let mut session = Session::new(1, &[("scale", Value::Integer(3))]);
        let id = Name::of("id");
        let sent = |session: &Session| session.parameter(id).unwrap().text();
        session.define("id", "007").unwrap();
        assert_eq!(sent(&session).unwrap(), "007");
        assert_eq!(session.value(id), Ok(Value::Integer(7)));
        session.set(id, Value::Null);
        assert_eq!(sent(&session), None);
        session.define("id", "abc").unwrap();
        assert_eq!(sent(&session).unwrap(), "abc");
        assert!(session.value(id).unwrap_err().to_string().starts_with(":id: 'abc' is neither"));
        let wrong = session.parameter(Name::of("no")).unwrap_err();
        assert_eq!(wrong.to_string(), "nothing has set :no; there are: :id, :scale");
        assert!(session.define("1a", "1").unwrap_err().to_string().contains("no digit first"));
    }

    #[test]
    fn clients_share_the_seed_of_hashes_and_nothing_else() {
        let [first, second] = [0, 1].map(|client| presets(7, client, 10));
        assert_eq!(first[1..], second[1..]);
        assert_ne!(first[0], second[0]);
        assert_ne!(first[1], presets(8, 0, 10)[1]);
    }
}
