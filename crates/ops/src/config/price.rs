//! List prices of models.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The highest valid price, in dollars per million tokens.
const MAX: f64 = 1_000_000.0;

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    #[serde(deserialize_with = "dollars")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub input_per_mtok: f64,
    #[serde(deserialize_with = "dollars")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub output_per_mtok: f64,
}

impl Price {
    /// The cost of these tokens, in US dollars.
    #[must_use]
    pub fn cost_usd(&self, input: u64, output: u64) -> f64 {
        let of = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        of(input, self.input_per_mtok) + of(output, self.output_per_mtok)
    }
}

fn dollars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let price = f64::deserialize(deserializer)?;
    if (0.0..=MAX).contains(&price) {
        return Ok(price);
    }
    Err(serde::de::Error::custom(format!("it must be 0 to {MAX}")))
}
