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
}
