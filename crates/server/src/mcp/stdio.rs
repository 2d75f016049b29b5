//! MCP over standard input and output, for the process that started this one.
//!
//! Standard output carries protocol bytes only. No transaction is open while the server idles, and
//! it ends when its input closes or its parent dies (P-14).

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use tokio::sync::watch;

use super::McpServer;
use super::notes::Notes;
use super::wire::Wire;

impl McpServer {
    /// Serves standard input and output until the input closes or the parent ends.
    pub fn serve_stdio(self, parent: Parent) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ops = Arc::clone(&self.asker.ops);
        let (notes, written) = Notes::start();
        let served = runtime.block_on(async move {
            tokio::select! {
                served = self.serve_pipes(notes) => served,
                () = parent.gone() => Ok(()),
            }
        });
        runtime.shutdown_timeout(Duration::from_millis(200));
        match ops.is_writing() {
            // Closing the store would wait for another process that is writing. What is queued was
            // not answered.
            true => std::mem::forget(ops),
            // Database connections must not be dropped inside the runtime.
            false => drop(ops),
        }
        written.wait();
        served
    }

    async fn serve_pipes(mut self, notes: Notes) -> io::Result<()> {
        let (read, write) = rmcp::transport::stdio_pipes();
        let (end, ending) = watch::channel(false);
        self.stopping = Some(ending);
        let near = self.asker.is_near().then(|| self.clone());
        match self.serve(Wire::new(read, write, end, notes, near)).await {
            Ok(service) => service.waiting().await.map(|_| ()).map_err(io::Error::other),
            // A host that closes before the handshake is not an error.
            Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

/// The parent process. A killed host may leave its pipes open, so the parent is watched from the
/// start, even before the handshake.
#[derive(Clone, Copy, Debug)]
pub struct Parent {
    #[cfg(unix)]
    id: u32,
}

impl Parent {
    /// The current parent. Call this first, before the parent can change.
    #[must_use]
    pub fn now() -> Self {
        Self {
            #[cfg(unix)]
            id: std::os::unix::process::parent_id(),
        }
    }

    /// Returns when the parent has ended.
    async fn gone(self) {
        #[cfg(unix)]
        while std::os::unix::process::parent_id() == self.id {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        #[cfg(not(unix))]
        std::future::pending::<()>().await;
    }
}
