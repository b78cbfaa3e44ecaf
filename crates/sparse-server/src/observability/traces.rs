//! Traces of OpenTelemetry: a span for each request, which a collector gets by OTLP over HTTP.
//!
//! A request may name the span of its client in `traceparent` (W3C Trace Context). The front end puts its own span in
//! that place, so that the span of a worker process is a child of it.

use crate::config::Config;
use crate::error::StartError;
use crate::front_end::{method_of, route_of};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{SpanKind, Status, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tokio::task::spawn_blocking;

/// Spans of a process on their way to a collector; a clone is the same.
#[derive(Debug, Clone)]
pub(crate) struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

impl Traces {
    /// The traces of a process of this name, if the settings have a collector.
    pub(crate) fn of(config: &Config, process: &str) -> Result<Option<Self>, StartError> {
        config.otlp_endpoint.as_deref().map(|endpoint| Self::start(endpoint, process)).transpose()
    }

    fn start(endpoint: &str, process: &str) -> Result<Self, StartError> {
        let failed = |reason: String| StartError::Traces { endpoint: endpoint.into(), reason };
        if !endpoint.starts_with("http://") {
            return Err(failed("an address such as http://127.0.0.1:4318 is needed".into()));
        }
        let address = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
        let exporter = SpanExporter::builder().with_http().with_endpoint(address).build();
        let exporter = exporter.map_err(|error| failed(error.to_string()))?;
        let instance = KeyValue::new("service.instance.id", process.to_owned());
        let resource = Resource::builder().with_service_name("nnz").with_attribute(instance).build();
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource);
        let provider = provider.build();
        Ok(Self { tracer: provider.tracer("sparse-server"), provider })
    }

    /// Makes a span of each request to the routes, if there are traces.
    pub(crate) fn watch(traces: Option<&Self>, router: Router) -> Router {
        match traces {
            None => router,
            Some(traces) => router.layer(from_fn_with_state(traces.clone(), trace)),
        }
    }

    /// Sends the spans that are left.
    pub(crate) async fn end(traces: Option<Self>) {
        let Some(Self { provider, .. }) = traces else { return };
        match spawn_blocking(move || provider.shutdown()).await {
            Ok(Ok(())) => (),
            Ok(Err(error)) => tracing::warn!("sending the last traces: {error}"),
            Err(error) => tracing::error!("sending the last traces: {error}"),
        }
    }
}

async fn trace(State(traces): State<Traces>, mut request: Request, next: Next) -> Response {
    let propagator = TraceContextPropagator::new();
    let parent = propagator.extract_with_context(&Context::new(), &HeaderExtractor(request.headers()));
    let (method, route) = (method_of(&request), route_of(&request));
    let name = format!("{method} {route}");
    let attributes = [KeyValue::new("http.request.method", method), KeyValue::new("http.route", route)];
    let span = traces.tracer.span_builder(name).with_kind(SpanKind::Server).with_attributes(attributes);
    // The span ends with the last clone of its context, also where the client is gone before the answer.
    let context = parent.with_span(span.start_with_context(&traces.tracer, &parent));
    propagator.inject_context(&context, &mut HeaderInjector(request.headers_mut()));
    let response = next.run(request).await;
    let (span, status) = (context.span(), response.status());
    span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
    if let Some(id) = response.headers().get("x-request-id").and_then(|id| id.to_str().ok()) {
        span.set_attribute(KeyValue::new("nnz.request_id", id.to_owned()));
    }
    if status.is_server_error() {
        span.set_status(Status::error(status.to_string()));
    }
    response
}
