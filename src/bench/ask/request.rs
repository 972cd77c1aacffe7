//! A request as bytes: a query with the values of a row in place of its placeholders.

use super::super::connect::target::Target;
use super::dice::Dice;
use super::mix::Request;
use super::plan::{Others, Ready};
use super::row::{Field, Row};
use super::template::Values;
use crate::fhir::TypeId;

/// The values that replace the placeholders of one request: those of `row`, and others that are drawn from `ready`.
struct RowValues<'a> {
    ready: &'a Ready,
    row: &'a Row,
}

impl Values for RowValues<'_> {
    fn row(&self) -> &Row {
        self.row
    }

    fn other(&self, type_id: TypeId, field: Field, dice: &mut Dice) -> Option<&Row> {
        let of_field = |others: &&Others| others.type_id == type_id && others.field == field;
        let others = self.ready.others.iter().find(of_field)?;
        dice.one_of(&others.rows).map(|row| &**row)
    }

    fn people(&self) -> &[Box<str>] {
        &self.ready.people
    }
}

impl Ready {
    /// Writes the request for a row into `out`, and replaces the content of `out`.
    pub(in crate::bench) fn request(
        &self,
        row: &Row,
        target: &Target,
        token: Option<&str>,
        dice: &mut Dice,
        out: &mut Vec<u8>,
    ) {
        let values = RowValues { ready: self, row };
        out.clear();
        match &self.query.request {
            Request::Get(path) => {
                begin("GET", target, out);
                path.render(&values, dice, out);
                head(target, token, out);
                out.extend_from_slice(b"\r\n");
            }
            Request::Form(path, body) => {
                let mut form = Vec::new();
                body.render(&values, dice, &mut form);
                begin("POST", target, out);
                path.render(&values, dice, out);
                head(target, token, out);
                posted("application/x-www-form-urlencoded", &form, out);
            }
            Request::View(body) => {
                begin("POST", target, out);
                out.extend_from_slice(b"ViewDefinition/$run?_format=csv");
                head(target, token, out);
                posted("application/fhir+json", body, out);
            }
        }
    }
}

/// Writes a `GET` of a path below the server's root into `out`, and replaces the content of `out`.
pub(in crate::bench) fn get(path: &str, target: &Target, token: Option<&str>, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(b"GET ");
    out.extend_from_slice(path.as_bytes());
    head(target, token, out);
    out.extend_from_slice(b"\r\n");
}

/// Writes a `POST` of a form to a path below the FHIR base into `out`, and replaces the content of `out`.
pub(in crate::bench) fn form(path: &str, target: &Target, token: Option<&str>, body: &[u8], out: &mut Vec<u8>) {
    out.clear();
    begin("POST", target, out);
    out.extend_from_slice(path.as_bytes());
    head(target, token, out);
    posted("application/x-www-form-urlencoded", body, out);
}

fn begin(method: &str, target: &Target, out: &mut Vec<u8>) {
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(target.path.as_bytes());
    out.push(b'/');
}

/// Appends the end of the request line and the headers that all requests have, without the empty line.
fn head(target: &Target, token: Option<&str>, out: &mut Vec<u8>) {
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    out.extend_from_slice(target.authority.as_bytes());
    out.extend_from_slice(b"\r\nAccept: application/fhir+json, text/csv;q=0.9\r\n");
    if let Some(token) = token {
        out.extend_from_slice(b"Authorization: Bearer ");
        out.extend_from_slice(token.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

fn posted(content_type: &str, body: &[u8], out: &mut Vec<u8>) {
    let head = format!("Content-Type: {content_type}\r\nContent-Length: {}\r\n\r\n", body.len());
    out.extend_from_slice(head.as_bytes());
    out.extend_from_slice(body);
}
