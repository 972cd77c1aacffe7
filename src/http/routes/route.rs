//! One route: a path with its methods, and the description of each method for the OpenAPI document.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter};
use rustc_hash::FxHashSet;

use super::cross_origin;
use super::operation::Operation;
use crate::http::service::Service;

/// A path, its handlers and their descriptions.
pub(in crate::http) struct Route {
    path: &'static str,
    methods: MethodRouter<Arc<Service>>,
    operations: Vec<(&'static str, Operation)>,
    /// Whether scripts of any web page may read the responses.
    for_scripts: bool,
}

/// The paths for which the middleware `frame` has special rules: `open` for routes that need no credential,
/// `for_scripts` for routes that scripts of any web page may read.
pub(in crate::http) struct Paths {
    open: FxHashSet<&'static str>,
    for_scripts: FxHashSet<&'static str>,
}

impl Paths {
    pub(super) fn of(routes: &[Route]) -> Paths {
        let paths = |is_meant: fn(&Route) -> bool| {
            let routes = routes.iter().filter(|route| is_meant(route));
            routes.map(Route::path).collect()
        };
        Paths {
            open: paths(Route::is_open),
            for_scripts: paths(Route::is_for_scripts),
        }
    }

    /// Whether no method of the route needs a credential.
    pub(in crate::http) fn is_open(&self, route: &str) -> bool {
        self.open.contains(route)
    }

    /// Whether scripts of any web page may read the route's responses.
    pub(in crate::http) fn is_for_scripts(&self, route: &str) -> bool {
        self.for_scripts.contains(route)
    }
}

impl Route {
    /// Creates a route without methods. If a part of the path begins with `$`, the route is also served with `%24` in
    /// the place of `$`. Clients may encode this character, and the router does not decode paths before it matches
    /// them.
    pub(in crate::http) fn at(path: &'static str) -> Route {
        Route {
            path,
            methods: MethodRouter::new(),
            operations: Vec::new(),
            for_scripts: false,
        }
    }

    /// Sets the handler for GET and HEAD, and describes GET. A HEAD response has no body.
    pub(in crate::http) fn get<H, T>(self, handler: H, operation: Operation) -> Route
    where
        H: Handler<T, Arc<Service>>,
        T: 'static,
    {
        self.also_get(handler).describe("get", operation)
    }

    /// Sets the handler for POST, and describes it.
    pub(in crate::http) fn post<H, T>(mut self, handler: H, operation: Operation) -> Route
    where
        H: Handler<T, Arc<Service>>,
        T: 'static,
    {
        self.methods = self.methods.on(MethodFilter::POST, handler);
        self.describe("post", operation)
    }

    /// Sets the handler for PUT, and describes it.
    pub(in crate::http) fn put<H, T>(mut self, handler: H, operation: Operation) -> Route
    where
        H: Handler<T, Arc<Service>>,
        T: 'static,
    {
        self.methods = self.methods.on(MethodFilter::PUT, handler);
        self.describe("put", operation)
    }

    /// Sets the handler for DELETE, and describes it.
    pub(in crate::http) fn delete<H, T>(mut self, handler: H, operation: Operation) -> Route
    where
        H: Handler<T, Arc<Service>>,
        T: 'static,
    {
        self.methods = self.methods.on(MethodFilter::DELETE, handler);
        self.describe("delete", operation)
    }

    /// Sets the handler for GET and HEAD without a description: for aliases, assets, browser pages, and requests that
    /// are always refused.
    pub(in crate::http) fn also_get<H, T>(mut self, handler: H) -> Route
    where
        H: Handler<T, Arc<Service>>,
        T: 'static,
    {
        self.methods = self.methods.on(MethodFilter::GET, handler);
        self
    }

    /// Sets the handler for POST without a description: for forms that only our own pages send.
    pub(in crate::http) fn also_post<H, T>(mut self, handler: H) -> Route
    where
        H: Handler<T, Arc<Service>>,
        T: 'static,
    {
        self.methods = self.methods.on(MethodFilter::POST, handler);
        self
    }

    /// Sets the handler for all other methods. Without it, requests with such a method get a general error.
    pub(in crate::http) fn otherwise<H, T>(mut self, handler: H) -> Route
    where
        H: Handler<T, Arc<Service>>,
        T: 'static,
    {
        self.methods = self.methods.fallback(handler);
        self
    }

    /// Lets scripts of any web page read this route's responses and errors.
    pub(in crate::http) fn readable_anywhere(mut self) -> Route {
        self.methods = self.methods.on(MethodFilter::OPTIONS, cross_origin::preflight);
        self.for_scripts = true;
        self
    }

    /// Lets scripts of any web page read this route's responses and errors, and call it by POST.
    pub(in crate::http) fn callable_anywhere(mut self) -> Route {
        self.methods = self.methods.on(MethodFilter::OPTIONS, cross_origin::preflight_to_call);
        self.for_scripts = true;
        self
    }

    fn describe(mut self, method: &'static str, operation: Operation) -> Route {
        self.operations.push((method, operation));
        self
    }

    /// Whether all described methods work without a credential. `false` if none is described.
    pub(super) fn is_open(&self) -> bool {
        !self.operations.is_empty() && self.operations.iter().all(|(_, operation)| operation.is_open())
    }

    /// Whether scripts of any web page may read the route's responses.
    pub(super) fn is_for_scripts(&self) -> bool {
        self.for_scripts
    }

    pub(in crate::http) fn path(&self) -> &'static str {
        self.path
    }

    pub(super) fn operations(&self) -> &[(&'static str, Operation)] {
        &self.operations
    }

    pub(super) fn enter(self, router: Router<Arc<Service>>) -> Router<Arc<Service>> {
        let encoded = self.path.replace("/$", "/%24");
        if encoded == self.path {
            return router.route(self.path, self.methods);
        }
        router
            .route(&encoded, self.methods.clone())
            .route(self.path, self.methods)
    }
}
