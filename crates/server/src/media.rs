//! Images, audio and files, as content with a MIME type.
//!
//! | type | becomes |
//! |---|---|
//! | [`Image`], [`Audio`] | an image or audio block; as a resource, the bytes |
//! | [`File`] | an embedded resource: text if it is UTF-8, bytes otherwise |
//! | [`File::link`] | a resource link, with its type and size |
//!
//! The MIME type is sniffed, from the first bytes and then from the name; `new` takes it as an argument. Files are read on a
//! thread for blocking work, up to [`MAX_SIZE`].

mod block;
mod file;
mod read;

pub use block::{Audio, Image};
pub use file::File;
pub use read::MediaError;

/// The maximum size of a file: 10 MiB. In a message it is a third more, as base64.
pub const MAX_SIZE: u64 = 10 << 20;
