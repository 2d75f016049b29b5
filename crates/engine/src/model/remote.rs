//! A model behind an HTTP endpoint: the part that all providers share. Requests and responses are
//! specific to each provider's [`Format`].

use serde_json::Value;

use super::exchange::{Endpoint, Wire};
use super::{Cancel, Fault, Model, Progress, Reply, Request};

/// The requests and responses of one API.
pub(super) trait Format: Send + Sync {
    type Stream: Wire;

    /// The body of a request.
    fn body(&self, model: &str, effort: Option<&str>, request: &Request<'_>) -> Value;

    /// Reads the response to a request.
    fn stream(&self, request: &Request<'_>) -> Self::Stream;
}

/// A model of one provider, or of a server that speaks its format.
#[derive(Debug)]
pub(super) struct Remote<F> {
    /// The name it is configured by.
    pub(super) name: String,
    pub(super) provider: &'static str,
    /// The provider's name for the model.
    pub(super) model: String,
    pub(super) window: u64,
    pub(super) effort: Option<String>,
    pub(super) endpoint: Endpoint,
    pub(super) format: F,
}

impl<F: Format> Model for Remote<F> {
    fn name(&self) -> &str {
        &self.name
    }

    fn provider(&self) -> &'static str {
        self.provider
    }

    fn window(&self) -> u64 {
        self.window
    }

    fn respond(
        &self,
        request: &Request<'_>,
        cancel: &Cancel,
        observer: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Reply, Fault> {
        let body = self.format.body(&self.model, self.effort.as_deref(), request);
        let mut stream = self.format.stream(request);
        self.endpoint.post(&body, &mut stream, cancel, observer)?;
        Ok(stream.reply())
    }
}
