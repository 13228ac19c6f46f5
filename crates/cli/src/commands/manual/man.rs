//! Man pages.

use clap::Command;
use clap_mangen::{
    Man,
    roff::{Roff, roman},
};

use super::{
    name,
    parts::{HelpPart, after_help, long_about},
    shown, usage,
};
use crate::exit::{Exit, Failure};

/// Returns the page of the program and those of all subcommands, with the names of their files.
pub(super) fn pages(program: &Command) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let mut pages = Vec::new();
    add(program, &mut pages)?;
    Ok(pages)
}

fn add(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), Failure> {
    let page = page(command).map_err(|e| Failure::new(Exit::File, format!("cannot format a man page: {e}")))?;
    pages.push((format!("{}.1", name(command).replace(' ', "-")), page));
    shown(command).try_for_each(|command| add(command, pages))
}

fn page(command: &Command) -> std::io::Result<Vec<u8>> {
    let source = format!("couplet {}", env!("CARGO_PKG_VERSION"));
    let about = command.get_about().cloned().unwrap_or_default();
    let short = command.clone().override_usage(usage(command)).long_about(about);
    let man = Man::new(short).title(name(command).replace(' ', "-")).source(source).manual("Couplet");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    parts(&long_about(command)).to_writer(&mut page)?;
    man.render_options_section(&mut page)?;
    if shown(command).next().is_some() {
        man.render_subcommands_section(&mut page)?;
    }
    let after = after_help(command);
    if after.iter().any(|part| matches!(part, HelpPart::Prose(_))) {
        Roff::new().control("SH", ["NOTES"]).to_writer(&mut page)?;
    }
    parts(&after).to_writer(&mut page)?;
    Ok(page)
}

fn parts(parts: &[HelpPart]) -> Roff {
    let mut roff = Roff::new();
    for part in parts {
        let HelpPart::Prose(text) = part else { continue };
        roff.control("PP", []);
        roff.text([roman(text)]);
    }
    for part in parts {
        let HelpPart::Block(heading, lines) = part else { continue };
        roff.control("SH", [heading.to_uppercase().as_str()]);
        roff.control("nf", []);
        for line in lines {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff
}
