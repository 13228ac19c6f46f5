//! The files of a generated client.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use couplet_generate::{Generator, Language};

use crate::exit::Failure;

/// The client, and its tests if they are a file of their own.
pub(super) struct Files {
    pub(super) list: Vec<File>,
}

pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) is_tests: bool,
}

impl Files {
    pub(super) fn of(
        generator: &Generator,
        language: Language,
        out: Option<&Path>,
        tests: bool,
    ) -> Result<Self, Failure> {
        let path = out.map(|out| file(out, generator, language)).unwrap_or_default();
        let module = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let mut code = generator.code(language);
        let mut list = Vec::new();
        if tests {
            if language == Language::Python && !is_module(&module) {
                let what = format!("Python cannot import `{module}`, which the tests need");
                return Err(Failure::usage(what).hint(format!("try --out {}.py", generator.module())));
            }
            let text = generator.tests(language, &module);
            match language.tests_file(&module) {
                Some(name) => list.push(File { path: path.with_file_name(name), text, is_tests: true }),
                None => code.push_str(&text),
            }
        }
        list.insert(0, File { path, text: code, is_tests: false });
        Ok(Self { list })
    }

    /// The text of the client.
    pub(super) fn code(&self) -> &str {
        self.list.first().map_or("", |file| &file.text)
    }
}

impl File {
    /// Whether the file has this text. Line ends do not count: a version control system may have changed them.
    pub(super) fn is_current(&self) -> Result<bool, Failure> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(text.replace("\r\n", "\n") == self.text),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => Ok(false),
            Err(error) => Err(Failure::file(&self.path, "read", &error)),
        }
    }

    pub(super) fn write(&self) -> Result<(), Failure> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            fs::create_dir_all(folder).map_err(|e| Failure::file(folder, "created", &e))?;
        }
        fs::write(&self.path, &self.text).map_err(|e| Failure::file(&self.path, "written", &e))
    }
}

/// The path of the client: PATH itself if it is a file, or a file in it that is named after the server.
fn file(out: &Path, generator: &Generator, language: Language) -> PathBuf {
    let is_folder = out.is_dir() || out.extension().is_none();
    match is_folder {
        true => out.join(generator.module()).with_extension(language.extension()),
        false => out.to_owned(),
    }
}

fn is_module(name: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit())
}
