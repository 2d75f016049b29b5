//! Finds the model of a name, and reads its keys and addresses from the environment.

use std::path::PathBuf;
use std::time::Duration;

use super::anthropic::{self, Anthropic};
use super::exchange::{Endpoint, Key, Limits};
use super::openai_chat::OpenAiChat;
use super::openai_responses::OpenAiResponses;
use super::remote::{Format, Remote};
use super::scripted::Scripted;
use super::{Fault, FaultKind, Model};

const KNOWN: [&str; 5] = ["anthropic", "openai", "openai-chat", "ollama", "scripted"];

const ANTHROPIC_BASE: &str = "https://api.anthropic.com";
const OPENAI_BASE: &str = "https://api.openai.com/v1";
const OLLAMA_BASE: &str = "http://127.0.0.1:11434";
const OLLAMA_PORT: u16 = 11434;

const IDLE: Duration = Duration::from_secs(60);
/// A local server sends nothing while it loads the model and reads a long prompt, so it gets more
/// time.
const IDLE_OLLAMA: Duration = Duration::from_secs(300);

/// How a model is called.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long it may stay silent. By default 60 s; 300 s for `ollama:`.
    pub idle: Option<Duration>,
    /// How long connecting may take.
    pub connect: Duration,
    /// How long one whole reply may take.
    pub whole: Duration,
    /// How many tokens fit into one call, if our default is wrong.
    pub window: Option<u64>,
    /// The reasoning effort, in the provider's own word.
    pub effort: Option<String>,
    /// The folder of script files; by default the working directory.
    pub folder: PathBuf,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            idle: None,
            connect: Duration::from_secs(10),
            whole: Duration::from_secs(3600),
            window: None,
            effort: None,
            folder: PathBuf::new(),
        }
    }
}

/// Reads an environment variable.
type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Opens `anthropic:NAME`, `openai:NAME`, `openai-chat:NAME`, `ollama:NAME` or `scripted:FILE`.
/// Sends nothing yet.
pub fn open(
    spec: &str,
    settings: &Settings,
    env: Environment<'_>,
) -> Result<Box<dyn Model>, Fault> {
    let (maker, name) = spec.split_once(':').unwrap_or((spec, ""));
    if maker == "acp" {
        return Err(bad("`acp:` models are not available yet".into()));
    }
    if !KNOWN.contains(&maker) {
        return Err(bad(unknown(spec, maker)));
    }
    if name.trim().is_empty() {
        let what = if maker == "scripted" { "a file" } else { "a model" };
        return Err(bad(format!("`{spec}` names no model: write {what} after the colon")));
    }
    let idle = if maker == "ollama" { IDLE_OLLAMA } else { IDLE };
    let choice = Choice { spec, name, settings, idle: settings.idle.unwrap_or(idle), env };
    match maker {
        "anthropic" => choice.anthropic(),
        "openai" => choice.openai_responses(),
        "openai-chat" => choice.openai_chat(),
        "ollama" => choice.ollama(),
        _ => choice.scripted(),
    }
}

fn bad(message: String) -> Fault {
    Fault::new(FaultKind::BadRequest, message)
}

fn unknown(spec: &str, maker: &str) -> String {
    let near = KNOWN.iter().map(|known| (strsim::damerau_levenshtein(maker, known), known)).min();
    let near = near.filter(|(distance, _)| *distance <= 2);
    let known = KNOWN.map(|known| format!("`{known}:`")).join(", ");
    match near {
        Some((_, near)) => {
            format!("there is no model `{spec}`; did you mean `{near}:`? Known: {known}")
        }
        None => format!("there is no model `{spec}`; a model's name begins with {known}"),
    }
}

struct Choice<'a> {
    spec: &'a str,
    name: &'a str,
    settings: &'a Settings,
    idle: Duration,
    env: Environment<'a>,
}

impl Choice<'_> {
    fn anthropic(&self) -> Result<Box<dyn Model>, Fault> {
        let key = self.key("ANTHROPIC_API_KEY")?;
        let base = self.base("ANTHROPIC_BASE_URL", ANTHROPIC_BASE);
        let headers = vec![
            ("x-api-key", key.value.clone()),
            ("anthropic-version", anthropic::VERSION.to_owned()),
        ];
        let address = format!("{base}/v1/messages");
        let endpoint = self.endpoint("ANTHROPIC_BASE_URL", &address, headers, Some(key))?;
        Ok(self.remote("anthropic", window(self.name), endpoint, Anthropic))
    }

    fn openai_responses(&self) -> Result<Box<dyn Model>, Fault> {
        let (endpoint, _) = self.openai("responses")?;
        Ok(self.remote("openai", window(self.name), endpoint, OpenAiResponses))
    }

    fn openai_chat(&self) -> Result<Box<dyn Model>, Fault> {
        let (endpoint, is_openai) = self.openai("chat/completions")?;
        let limit_field = if is_openai { "max_completion_tokens" } else { "max_tokens" };
        Ok(self.remote("openai", window(self.name), endpoint, OpenAiChat { limit_field }))
    }

    fn ollama(&self) -> Result<Box<dyn Model>, Fault> {
        let host = (self.env)("OLLAMA_HOST").unwrap_or_default();
        let address = format!("{}/v1/chat/completions", ollama_base(&host));
        let endpoint = self.endpoint("OLLAMA_HOST", &address, Vec::new(), None)?;
        let said = (self.env)("OLLAMA_CONTEXT_LENGTH").and_then(|said| said.trim().parse().ok());
        let format = OpenAiChat { limit_field: "max_tokens" };
        Ok(self.remote("ollama", said.unwrap_or(32_768), endpoint, format))
    }

    fn scripted(&self) -> Result<Box<dyn Model>, Fault> {
        let script = Scripted::open(self.spec, &self.settings.folder.join(self.name))?;
        Ok(Box::new(script.with_window(self.window(WINDOW))))
    }

    fn remote(
        &self,
        provider: &'static str,
        window: u64,
        endpoint: Endpoint,
        format: impl Format + 'static,
    ) -> Box<dyn Model> {
        Box::new(Remote {
            name: self.spec.to_owned(),
            provider,
            model: self.name.to_owned(),
            window: self.window(window),
            effort: self.settings.effort.clone(),
            endpoint,
            format,
        })
    }

    /// An endpoint of OpenAI's API, and whether the server is OpenAI's own.
    fn openai(&self, path: &str) -> Result<(Endpoint, bool), Fault> {
        let key = self.key("OPENAI_API_KEY")?;
        let base = self.base("OPENAI_BASE_URL", OPENAI_BASE);
        let headers = vec![("authorization", format!("Bearer {}", key.value))];
        let address = format!("{base}/{path}");
        let endpoint = self.endpoint("OPENAI_BASE_URL", &address, headers, Some(key))?;
        Ok((endpoint, base == OPENAI_BASE))
    }

    fn base(&self, variable: &str, default: &str) -> String {
        let base = (self.env)(variable).unwrap_or_default();
        let base = base.trim().trim_end_matches('/');
        if base.is_empty() { default.to_owned() } else { base.to_owned() }
    }

    fn key(&self, variable: &'static str) -> Result<Key, Fault> {
        let spec = self.spec;
        let value = (self.env)(variable).unwrap_or_default().trim().to_owned();
        let fault = |message| Err(Fault::new(FaultKind::Key, message));
        if value.is_empty() {
            return fault(format!(
                "`{spec}` needs a key: set {variable} (if your own server needs no key, set it to any value)"
            ));
        }
        if !value.bytes().all(|byte| byte.is_ascii_graphic()) {
            return fault(format!("{variable} holds signs that no key has: set it again"));
        }
        Ok(Key { variable, value })
    }

    fn endpoint(
        &self,
        variable: &str,
        address: &str,
        headers: Vec<(&'static str, String)>,
        key: Option<Key>,
    ) -> Result<Endpoint, Fault> {
        let Settings { connect, whole, .. } = *self.settings;
        let limits = Limits { idle: self.idle, connect, whole };
        Endpoint::new(variable, address, headers, key, limits)
    }

    fn window(&self, known: u64) -> u64 {
        self.settings.window.unwrap_or(known)
    }
}

/// Reads `OLLAMA_HOST` as Ollama does: a host, a port, both, or a URL.
fn ollama_base(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    if host.contains("://") {
        return host.to_owned();
    }
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() && !name.ends_with(':') => {
            (name, port.to_owned())
        }
        _ => (host, OLLAMA_PORT.to_string()),
    };
    match name {
        "" if host.is_empty() => OLLAMA_BASE.to_owned(),
        // A server that listens on every address listens on this one.
        "" | "0.0.0.0" => format!("http://127.0.0.1:{port}"),
        name => format!("http://{name}:{port}"),
    }
}

/// The window of an unknown model.
const WINDOW: u64 = 200_000;

/// Windows by the beginning of a model's name; the longest match counts.
const WINDOWS: [(&str, u64); 8] = [
    ("gpt-3.5", 16_385),
    ("gpt-4", 8_192),
    ("gpt-4-turbo", 128_000),
    ("gpt-4o", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4.5", 128_000),
    ("gpt-5", 400_000),
    ("chatgpt-4o", 128_000),
];

fn window(model: &str) -> u64 {
    let known = WINDOWS.iter().filter(|(name, _)| model.starts_with(name));
    known.max_by_key(|(name, _)| name.len()).map_or(WINDOW, |(_, window)| *window)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(spec: &str, env: &[(&str, &str)]) -> Result<Box<dyn Model>, Fault> {
        let find = |name: &str| {
            let found = env.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        open(spec, &Settings::default(), &find)
    }

    fn fault(spec: &str, env: &[(&str, &str)]) -> (FaultKind, String) {
        let fault = opened(spec, env).err().unwrap();
        (fault.kind, fault.message)
    }

    #[test]
    fn an_unknown_model_name_is_refused_with_the_known_ones() {
        let known = "`anthropic:`, `openai:`, `openai-chat:`, `ollama:`, `scripted:`";
        let cases = [
            ("gpt-5", format!("there is no model `gpt-5`; a model's name begins with {known}")),
            ("", format!("there is no model ``; a model's name begins with {known}")),
            (
                "antropic:x",
                format!(
                    "there is no model `antropic:x`; did you mean `anthropic:`? Known: {known}"
                ),
            ),
            ("openai:", "`openai:` names no model: write a model after the colon".to_owned()),
            ("scripted: ", "`scripted: ` names no model: write a file after the colon".to_owned()),
            ("acp:claude", "`acp:` models are not available yet".to_owned()),
        ];
        for (spec, message) in cases {
            assert_eq!(fault(spec, &[]), (FaultKind::BadRequest, message));
        }
    }

    #[test]
    fn a_missing_key_is_named_by_its_variable_and_never_shown() {
        for (spec, variable) in [
            ("anthropic:m", "ANTHROPIC_API_KEY"),
            ("openai:m", "OPENAI_API_KEY"),
            ("openai-chat:m", "OPENAI_API_KEY"),
        ] {
            for value in ["", "  "] {
                let (kind, message) = fault(spec, &[(variable, value)]);
                assert_eq!(kind, FaultKind::Key);
                assert!(message.contains(&format!("set {variable}")), "{message}");
            }
            for value in ["se\ncret", "secrét", "se cret"] {
                let (kind, message) = fault(spec, &[(variable, value)]);
                assert_eq!(kind, FaultKind::Key);
                let expected = format!("{variable} holds signs that no key has: set it again");
                assert_eq!(message, expected);
            }
            assert!(opened(spec, &[(variable, " secret\n")]).is_ok());
        }
        assert!(opened("ollama:qwen3:8b", &[]).is_ok());
    }

    #[test]
    fn an_invalid_base_url_is_named_by_its_variable_and_not_shown() {
        let key = ("OPENAI_API_KEY", "k");
        for base in ["ftp://u:pw@h", "nonsense here", "http://", "//h"] {
            let fault = fault("openai:m", &[key, ("OPENAI_BASE_URL", base)]);
            let expected = "OPENAI_BASE_URL is not an http or https URL".to_owned();
            assert_eq!(fault, (FaultKind::BadRequest, expected), "{base}");
        }
    }

    #[test]
    fn names_providers_and_windows_follow_the_model() {
        let keys = [("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k")];
        let cases = [
            ("anthropic:claude-sonnet-5", "anthropic", 200_000),
            ("openai:gpt-5-mini", "openai", 400_000),
            ("openai-chat:gpt-4.1-nano", "openai", 1_047_576),
            ("openai-chat:gpt-4-0613", "openai", 8_192),
            ("ollama:qwen3:8b", "ollama", 32_768),
        ];
        for (spec, provider, window) in cases {
            let model = opened(spec, &keys).unwrap();
            assert_eq!((model.name(), model.provider(), model.window()), (spec, provider, window));
        }
        let said = [("OLLAMA_CONTEXT_LENGTH", "8192")];
        assert_eq!(opened("ollama:m", &said).unwrap().window(), 8192);
        let settings = Settings { window: Some(5), ..Settings::default() };
        assert_eq!(open("ollama:m", &settings, &|_| None).unwrap().window(), 5);
    }

    #[test]
    fn an_ollama_host_is_parsed_as_ollama_does() {
        let cases = [
            ("", "http://127.0.0.1:11434"),
            (" 10.0.0.5 ", "http://10.0.0.5:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:9000", "http://127.0.0.1:9000"),
            (":9000", "http://127.0.0.1:9000"),
            ("gpu:9000/", "http://gpu:9000"),
            ("[::1]", "http://[::1]:11434"),
            ("[::1]:9000", "http://[::1]:9000"),
            ("https://gpu.example/ollama/", "https://gpu.example/ollama"),
        ];
        for (host, base) in cases {
            assert_eq!(ollama_base(host), base, "{host}");
        }
    }
}
