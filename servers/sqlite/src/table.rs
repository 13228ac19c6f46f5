//! The rows of a query, as a text table and as structured content.

use std::fmt;

use couplet::{
    prelude::*,
    server::{
        Signature,
        extract::{Invocation, Rejection},
        reply::{IntoReply, ToolKind},
    },
    types::{CallToolResult, RawJson, RpcError},
};
use rusqlite::{Params, Result, Statement};
use serde::Serialize;
use serde_json::Value;

use crate::{
    cell::{self, Cell},
    database::Limits,
};

/// The maximum width of a column.
const WIDE: usize = 40;

#[derive(Serialize, JsonSchema)]
pub(crate) struct Table {
    /// The names of the columns
    columns: Vec<String>,
    /// The rows, with a value for each column; a blob is `{"blob": base64, "bytes": its length}`
    rows: Vec<Vec<Value>>,
    /// Whether there are more rows, or longer values, than are shown
    truncated: bool,
    #[serde(skip)]
    heads: Vec<String>,
    #[serde(skip)]
    texts: Vec<Vec<String>>,
    #[serde(skip)]
    limits: Limits,
}

impl Table {
    /// Creates an empty table with limits.
    pub(crate) fn within(limits: &Limits, rows: usize) -> Self {
        let mut limits = limits.clone();
        limits.rows = limits.rows.min(rows);
        let (heads, texts) = (Vec::new(), Vec::new());
        Self { columns: Vec::new(), rows: Vec::new(), truncated: false, heads, texts, limits }
    }

    /// Reads the rows of a statement, up to the limits.
    pub(crate) fn filled(mut self, statement: &mut Statement<'_>, params: impl Params) -> Result<Self> {
        (self.heads, self.columns) = statement.column_names().into_iter().map(cell::name).unzip();
        let mut left = self.limits.bytes;
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            if self.rows.len() == self.limits.rows || left == 0 {
                self.truncated = true;
                break;
            }
            let (mut texts, mut values) = (Vec::new(), Vec::new());
            for at in 0..self.columns.len() {
                let cell = Cell::new(row.get_ref(at)?, self.limits.value.min(left));
                left = left.saturating_sub(cell.text.len().max(1));
                self.truncated |= cell.cut;
                texts.push(cell.text);
                values.push(cell.value);
            }
            self.texts.push(texts);
            self.rows.push(values);
        }
        Ok(self)
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = || std::iter::once(&self.heads).chain(&self.texts);
        let width = |at: usize| lines().map(|line| line[at].chars().count()).max().unwrap_or(0).min(WIDE);
        let widths: Vec<_> = (0..self.heads.len()).map(width).collect();
        let line = |cells: &[String]| {
            let cells: Vec<_> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            cells.join(" | ").trim_end().to_owned()
        };
        writeln!(f, "{}", line(&self.heads))?;
        writeln!(f, "{}", widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join("-+-"))?;
        for cells in &self.texts {
            writeln!(f, "{}", line(cells))?;
        }
        let rows = match self.rows.len() {
            1 => "1 row".to_owned(),
            count => format!("{count} rows"),
        };
        match self.truncated {
            true => write!(f, "({rows}; there is more than is shown)"),
            false => write!(f, "({rows})"),
        }
    }
}

/// The text table and the structured content.
impl IntoReply<ToolKind> for Table {
    fn describe(signature: &mut Signature) {
        signature.returns::<Self>();
    }

    fn into_reply(self, _: &Invocation) -> Result<CallToolResult, Rejection> {
        let data = RawJson::new(&self).map_err(|e| RpcError::internal(e.to_string()))?;
        Ok(CallToolResult::text(self.to_string()).structured_content(data))
    }
}
