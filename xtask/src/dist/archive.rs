//! The archive with everything: `couplet-VERSION-TARGET.tar.gz`, for Windows `.zip`.

use super::{files::Files, product::Product};
use crate::Failure;

/// The name of the archive, and its bytes.
pub(super) fn pack(product: &Product) -> Result<(String, Vec<u8>), Failure> {
    let Product { platform, version, .. } = product;
    let mut inside = product.texts.clone();
    inside.add_program(platform.program(), product.program.as_slice());
    inside.add_below("man/man1", &product.man);
    inside.add_below("completions", &product.completions);
    let mut files = Files::default();
    files.add_below(&platform.folder(version), &inside);
    let bytes =
        if platform.is_windows() { files.zip(product.effort)? } else { files.tar_gz(product.time, product.effort)? };
    Ok((platform.archive(version), bytes))
}
