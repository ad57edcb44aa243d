//! Tables are read by their keys only: a derived type would also take an array, for its fields in their order.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::List;

/// A table.
pub(in crate::config) fn table<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Keyed<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Keyed<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_map(Keyed(PhantomData))
}

/// The same of each element of an array.
pub(super) fn tables<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<List<T>, D::Error> {
    struct Element<T>(T);

    impl<'de, T: Deserialize<'de>> Deserialize<'de> for Element<T> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            table(deserializer).map(Self)
        }
    }

    let list: List<Element<T>> = List::deserialize(deserializer)?;
    Ok(list.into_iter().map(|element| element.map(|Element(table)| table)).collect())
}
