//! The names of an enum's variants, written once: for JSON, the database and text.

/// Defines an enum whose variants have names. `ALL`, `name` and `parse` follow from them, and serde
/// reads and writes the same names. A variant may have a second spelling, which is only read. The
/// enum derives at least one of serde's traits.
#[macro_export]
macro_rules! named {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $enum:ident {
            $($(#[$of_variant:meta])* $variant:ident = $name:literal $(| $alias:literal)?,)+
        }
    ) => {
        $(#[$attribute])*
        $vis enum $enum {
            $($(#[$of_variant])* #[serde(rename = $name $(, alias = $alias)?)] $variant,)+
        }

        impl $enum {
            /// Every variant, in the order of its definition.
            $vis const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            #[must_use]
            $vis const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The variant of this name, or of its other spelling.
            #[must_use]
            $vis fn parse(name: &str) -> Option<Self> {
                match name {
                    $($name $(| $alias)? => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use named;

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    named! {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        enum Colour {
            DeepBlue = "deep-blue",
            Red = "red" | "crimson",
        }
    }

    #[test]
    fn one_name_serves_text_and_json() {
        assert_eq!(Colour::ALL, [Colour::DeepBlue, Colour::Red]);
        for colour in Colour::ALL {
            assert_eq!(Colour::parse(colour.name()), Some(colour));
            assert_eq!(serde_json::to_value(colour).unwrap(), colour.name());
            assert_eq!(serde_json::from_value::<Colour>(colour.name().into()).unwrap(), colour);
        }
        assert_eq!(Colour::parse("crimson"), Some(Colour::Red));
        assert_eq!(serde_json::from_str::<Colour>("\"crimson\"").unwrap(), Colour::Red);
        assert_eq!(Colour::parse("blue"), None);
    }
}
