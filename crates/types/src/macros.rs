//! The three patterns that repeat through all files: chained setters, open sets of strings, access to `_meta`.

/// Declares chained setters of optional fields: `into` ones take `impl Into`, `value` ones the type itself.
macro_rules! setters {
    ($name:ident { $(into { $($field:ident: $type:ty),* $(,)? })? $(value { $($plain:ident: $exact:ty),* $(,)? })? }) => {
        impl $name {
            $($(
                #[doc = concat!("Sets [`", stringify!($field), "`](Self#structfield.", stringify!($field), ").")]
                #[must_use]
                pub fn $field(mut self, $field: impl Into<$type>) -> Self {
                    self.$field = Some($field.into());
                    self
                }
            )*)?
            $($(
                #[doc = concat!("Sets [`", stringify!($plain), "`](Self#structfield.", stringify!($plain), ").")]
                #[must_use]
                pub fn $plain(mut self, $plain: $exact) -> Self {
                    self.$plain = Some($plain);
                    self
                }
            )*)?
        }
    };
}

/// Declares an enum of strings that preserves unknown ones.
macro_rules! open_strings {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
            /// An unknown string, as it was received.
            Other(String),
        }

        impl $name {
            /// Returns the string as it is on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Other(text) => text,
                }
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($text => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl serde::de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("a string")
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$name, E> {
                        Ok(text.into())
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

/// Implements access to the `meta` field of parameters and results.
macro_rules! has_meta {
    ($($name:ty),* $(,)?) => {$(
        impl crate::HasMeta for $name {
            fn meta(&self) -> Option<&crate::Meta> {
                self.meta.as_ref()
            }
            fn meta_mut(&mut self) -> &mut Option<crate::Meta> {
                &mut self.meta
            }
        }
    )*};
}
