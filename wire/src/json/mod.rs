//! JSON as the wire has it: a strict reader and a small writer (spec, Requests in general).

mod read;
mod write;

pub use read::{MAX_DEPTH, parse, parse_bounded, parse_object, parse_object_bounded};
pub(crate) use write::write_escaped;
pub use write::{ObjectWriter, write_string};

use crate::Error;
use alloc::{borrow::Cow, vec::Vec};

/// A JSON value that borrows from the text it was read from; only a string with an escape in it is copied.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`, which counts as absent wherever a member is looked up.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number as it was spelled.
    Number(&'a str),
    /// A string, decoded.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object.
    Object(Object<'a>),
}

/// A JSON object: its members in the order they stood, no name twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object<'a> {
    members: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Value<'a> {
    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Object<'a>> {
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The elements, if it is an array.
    pub fn as_array(&self) -> Option<&[Value<'a>]> {
        match self {
            Self::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The text, if it is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth, if it is a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The number, if it is spelled as an integer (no sign, fraction or exponent) and fits.
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(digits) => digits.parse().ok(),
            _ => None,
        }
    }

    /// The number, if it is spelled as an integer (no fraction or exponent, no `-0`) and fits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Number(digits) if *digits != "-0" => digits.parse().ok(),
            _ => None,
        }
    }
}

/// The getters: `Ok(None)` where the member is absent or `null`, `invalid` with its name where it is of another type.
impl<'a> Object<'a> {
    /// The members, in the order they stood.
    pub fn members(&self) -> &[(Cow<'a, str>, Value<'a>)] {
        &self.members
    }

    /// The member of that name; one that is `null` is absent.
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.members.iter().find(|(key, _)| key == name).map(|(_, value)| value).filter(|value| **value != Value::Null)
    }

    /// Takes the member of that name out, leaving `null`.
    pub fn take(&mut self, name: &str) -> Option<Value<'a>> {
        let (_, value) = self.members.iter_mut().find(|(key, _)| key == name)?;
        Some(core::mem::replace(value, Value::Null)).filter(|value| *value != Value::Null)
    }

    /// A string.
    ///
    /// # Errors
    /// As all getters.
    pub fn string(&self, name: &'static str) -> Result<Option<&str>, Error> {
        self.typed(name, Value::as_str)
    }

    /// An integer that is not negative.
    ///
    /// # Errors
    /// As all getters.
    pub fn u64(&self, name: &'static str) -> Result<Option<u64>, Error> {
        self.typed(name, Value::as_u64)
    }

    /// An integer within `range`.
    ///
    /// # Errors
    /// As all getters, and outside of the range.
    pub fn within(&self, name: &'static str, range: core::ops::RangeInclusive<u64>) -> Result<Option<u64>, Error> {
        self.typed(name, |value| value.as_u64().filter(|n| range.contains(n)))
    }

    /// An integer of 32 bits.
    ///
    /// # Errors
    /// As all getters.
    pub fn i32(&self, name: &'static str) -> Result<Option<i32>, Error> {
        self.typed(name, |value| value.as_i64().and_then(|n| n.try_into().ok()))
    }

    /// A boolean; absent is `None`.
    ///
    /// # Errors
    /// As all getters.
    pub fn bool(&self, name: &'static str) -> Result<Option<bool>, Error> {
        self.typed(name, Value::as_bool)
    }

    /// A boolean whose absence is `false`.
    ///
    /// # Errors
    /// As all getters.
    pub fn flag(&self, name: &'static str) -> Result<bool, Error> {
        Ok(self.bool(name)?.unwrap_or(false))
    }

    /// An object.
    ///
    /// # Errors
    /// As all getters.
    pub fn object(&self, name: &'static str) -> Result<Option<&Object<'a>>, Error> {
        self.typed(name, Value::as_object)
    }

    /// An array.
    ///
    /// # Errors
    /// As all getters.
    pub fn array(&self, name: &'static str) -> Result<Option<&[Value<'a>]>, Error> {
        self.typed(name, Value::as_array)
    }

    /// An array of strings.
    ///
    /// # Errors
    /// As all getters, and where an element is no string.
    pub fn strings(&self, name: &'static str) -> Result<Option<Vec<&str>>, Error> {
        self.typed(name, |value| value.as_array()?.iter().map(Value::as_str).collect())
    }

    /// A string, taken out of the object so that nothing is copied.
    ///
    /// # Errors
    /// As all getters.
    pub fn take_string(&mut self, name: &'static str) -> Result<Option<Cow<'a, str>>, Error> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Error::invalid(name)),
        }
    }

    /// An array of strings, taken out of the object so that nothing is copied.
    ///
    /// # Errors
    /// As all getters, and where an element is no string.
    pub fn take_strings(&mut self, name: &'static str) -> Result<Option<Vec<Cow<'a, str>>>, Error> {
        let text = |value| match value {
            Value::String(text) => Ok(text),
            _ => Err(Error::invalid(name)),
        };
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(elements)) => elements.into_iter().map(text).collect::<Result<_, _>>().map(Some),
            Some(_) => Err(Error::invalid(name)),
        }
    }

    fn typed<'s, T>(
        &'s self,
        name: &'static str,
        read: impl FnOnce(&'s Value<'a>) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        self.get(name).map(|value| read(value).ok_or(Error::invalid(name))).transpose()
    }
}
