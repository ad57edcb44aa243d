//! Counts the words of a text.
#![forbid(unsafe_code)]
use codemode_plugin_api::prelude::*;

#[derive(Deserialize, JsonSchema)]
struct Count {
    /// The text to count in.
    text: String,
    /// Count only words of at least this many letters.
    min_letters: Option<u8>,
}

#[derive(Serialize, JsonSchema)]
struct Counted {
    words: usize,
}

struct Words;

fn count(_: &Words, _: &Call, input: Count) -> Result<Counted, CapabilityError> {
    let least = input.min_letters.unwrap_or(1).into();
    Ok(Counted { words: input.text.split_whitespace().filter(|word| word.chars().count() >= least).count() })
}

impl Plugin for Words {
    type Settings = NoSettings;

    fn start(_: NoSettings, _: &Host) -> Result<Self, StartError> {
        Ok(Words)
    }

    fn capabilities(c: &mut Capabilities<Self>) {
        c.add("words.count", count).summary("Count the words of a text.").read_only();
    }
}

export!(Words);
