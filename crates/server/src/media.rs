//! Pictures, sounds and files: from bytes or a path to content that says what it is.
//!
//! | type | becomes |
//! |---|---|
//! | [`Image`], [`Audio`] | a block of their kind; as a resource, the bytes |
//! | [`File`] | an embedded resource: text where it is text, bytes otherwise |
//! | [`File::link`] | a pointer to a resource, with its type and size |
//!
//! The media type is sniffed, from the first bytes and then from the name; `new` is for those who know it. Files are
//! read away from the runtime, up to [`MAX_SIZE`].

mod block;
mod file;
mod read;

pub use block::{Audio, Image};
pub use file::File;
pub use read::MediaError;

/// How many bytes of a file are read: 10 MiB. As base64 in a message they are a third more.
pub const MAX_SIZE: u64 = 10 << 20;
