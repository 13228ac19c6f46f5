#![doc = include_str!("guide/index.md")]
//!
#![doc = include_str!("guide/links.md")]

/// Declares a chapter: its text, and the targets of its links.
macro_rules! chapters {
    ($($name:ident: $file:literal,)*) => {
        $(
            #[doc = include_str!(concat!("guide/", $file))]
            #[doc = ""]
            #[doc = include_str!("guide/links.md")]
            pub mod $name {}
        )*
    };
}

chapters! {
    getting_started: "getting_started.md",
    tools: "tools.md",
    resources: "resources.md",
    prompts: "prompts.md",
    errors: "errors.md",
    state: "state.md",
    asking: "asking.md",
    progress: "progress.md",
    structured: "structured.md",
    testing: "testing.md",
    stdio: "stdio.md",
    http: "http.md",
    auth: "auth.md",
    tasks: "tasks.md",
    middleware: "middleware.md",
    extensions: "extensions.md",
    composing: "composing.md",
    gateway: "gateway.md",
    replicas: "replicas.md",
    deployment: "deployment.md",
    observability: "observability.md",
    security: "security.md",
    troubleshooting: "troubleshooting.md",
    troubleshooting_auth: "troubleshooting_auth.md",
    troubleshooting_stores: "troubleshooting_stores.md",
    troubleshooting_gateway: "troubleshooting_gateway.md",
    troubleshooting_documents: "troubleshooting_documents.md",
    implementing: "implementing.md",
    from_rmcp: "from_rmcp.md",
    from_fastmcp: "from_fastmcp.md",
    from_typescript: "from_typescript.md",
    cookbook: "cookbook.md",
}
