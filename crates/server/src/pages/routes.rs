//! The table of pages: one line for each path.

use axum::Router;
use axum::extract::{Request, State};
use axum::routing::any;
use punchlist_ops::Error;

use super::forms::{Done, Form};
use super::frame::Shown;
use super::visit::Visit;
use super::{
    activity, agents, assets, gates, home, issue, issues, mission, missions, plan, plans, respond,
    session, sign_in, todo,
};
use crate::http::state::Shared;

/// A page: how it is shown, and the actions of its forms.
#[derive(Debug)]
pub(crate) struct Page {
    /// The path, with the parts that vary in braces.
    pub(crate) path: &'static str,
    pub(crate) show: fn(&Visit) -> Result<Shown, Error>,
    pub(crate) act: fn(&Visit, &Form) -> Result<Done, Error>,
}

const PAGES: &[Page] = &[
    Page { path: "/", show: home::show, act: gates::act },
    Page { path: "/p/{project}", show: home::show_project, act: gates::act },
    Page { path: "/p/{project}/inbox", show: home::show_inbox, act: gates::act },
    Page { path: "/p/{project}/issues", show: issues::show, act: issues::act },
    Page { path: "/p/{project}/issues/{number}", show: issue::show, act: issue::act },
    Page { path: "/p/{project}/sessions/{id}", show: session::show, act: session::act },
    Page { path: "/p/{project}/runs/{id}", show: session::show_run, act: session::act_on_run },
    Page { path: "/p/{project}/missions", show: missions::show, act: missions::act },
    Page { path: "/p/{project}/missions/{slug}", show: mission::show, act: mission::act },
    Page { path: "/p/{project}/todos/{id}", show: todo::show, act: todo::act },
    Page { path: "/p/{project}/plans", show: plans::show, act: plans::act },
    Page { path: "/p/{project}/plans/{*file}", show: plan::show, act: plan::act },
    Page { path: "/p/{project}/agents", show: agents::show, act: agents::act },
    Page { path: "/p/{project}/activity", show: activity::show, act: activity::act },
];

pub(crate) fn routes() -> Router<Shared> {
    let mut router = Router::new()
        .route("/assets/{file}", any(assets::serve))
        .route("/sign-in", any(sign_in::show))
        .route("/sign-out", any(sign_in::end));
    for page in PAGES {
        let answer = move |State(state): State<Shared>, request: Request| {
            respond::answer(state, page, request)
        };
        router = router.route(page.path, any(answer));
    }
    router
}
