//! Search values made from resources' values: whole, in part, and altered.

use serde_json::Value;

use super::Draw;
use crate::search::corpus::BASE;
use crate::search::differential::expression::relative;
use crate::search::differential::values::{BOUND, escaped, fold, span, strings};

impl Draw<'_, '_> {
    pub(super) fn of_kind(
        &mut self,
        resource_type: &str,
        code: &str,
        kind: &str,
        modifier: &str,
        value: &Value,
    ) -> Option<String> {
        match (kind, modifier) {
            ("token", ":text") => self.label(value),
            ("token", ":of-type") => {
                let coding = &value["type"]["coding"][0];
                let part = |value: &Value| escaped(value.as_str().unwrap_or("x"));
                Some([part(&coding["system"]), part(&coding["code"]), part(&value["value"])].join("|"))
            }
            ("token", _) => self.token(resource_type, code, value),
            ("reference", ":identifier") => self.token("", "", &value["identifier"]),
            ("reference", modifier) => self.reference(modifier, value),
            ("string", _) => self.string(modifier, value),
            ("date", _) => self.date(value),
            ("number", _) => {
                let bounds = [value, &value["low"]["value"], &value["high"]["value"]];
                self.number(bounds.into_iter().find_map(Value::as_f64)?)
            }
            ("quantity", _) => self.quantity(value),
            ("uri", _) => self.uri(modifier, value.as_str()?),
            ("special", _) => self.place(value),
            _ => None,
        }
    }

    fn token(&mut self, resource_type: &str, code: &str, value: &Value) -> Option<String> {
        let bound = BOUND
            .iter()
            .find(|(of, element, _)| *of == resource_type && *element == code);
        let (system, code) = match value {
            Value::String(text) => {
                let text = escaped(&self.cased(text));
                return Some(match (bound, self.below(4)) {
                    (Some((_, _, system)), 0) => format!("{}|{text}", escaped(system)),
                    (Some(_), 1) => format!("http://example.org/none|{text}"),
                    (_, 2) => format!("|{text}"),
                    _ => text,
                });
            }
            Value::Bool(value) => {
                let system = *self.pick(&["", "", "|", "http://example.org/none|"]);
                return Some(format!("{system}{}", *value ^ self.chance(30)));
            }
            value => {
                let codings = value["coding"]
                    .as_array()
                    .cloned()
                    .unwrap_or_else(|| vec![value.clone()]);
                let coding = if codings.is_empty() {
                    value.clone()
                } else {
                    self.pick(&codings).clone()
                };
                let text = |name: &str| coding[name].as_str().map(str::to_owned);
                let code = if value.get("coding").is_none() && value.get("value").is_some() {
                    "value"
                } else {
                    "code"
                };
                (text("system"), text(code))
            }
        };
        let code = code.map(|code| escaped(&self.cased(&code)));
        Some(match (system.map(|system| escaped(&system)), code, self.below(7)) {
            (Some(system), _, 0) => format!("{system}|"),
            (_, Some(code), 1) => format!("|{code}"),
            (_, Some(code), 2) => format!("http://example.org/none|{code}"),
            (Some(system), Some(code), 3 | 4) => format!("{system}|{code}"),
            (_, Some(code), _) => code,
            (Some(system), None, _) => format!("{system}|"),
            (None, None, _) => return None,
        })
    }

    /// The text, sometimes in another case.
    fn cased(&mut self, text: &str) -> String {
        match self.below(8) {
            0 => text.to_uppercase(),
            1 => text.to_lowercase(),
            _ => text.to_owned(),
        }
    }

    fn label(&mut self, value: &Value) -> Option<String> {
        let texts = [
            &value["text"],
            &value["display"],
            &value["coding"][0]["display"],
            &value["type"]["text"],
        ];
        let text = texts.into_iter().find_map(Value::as_str)?;
        Some(escaped(&self.part(text, true)))
    }

    /// A part of a text, from its start or from anywhere.
    fn part(&mut self, text: &str, beginning: bool) -> String {
        let letters: Vec<char> = text.chars().collect();
        let from = if beginning { 0 } else { self.below(letters.len()) };
        let to = if self.chance(40) {
            letters.len()
        } else {
            from + 1 + self.below(letters.len() - from)
        };
        let part: String = letters[from..to].iter().collect();
        let part = self.cased(&part);
        if self.chance(10) {
            part.replace('o', "ö").replace('e', "é")
        } else {
            part
        }
    }

    fn string(&mut self, modifier: &str, value: &Value) -> Option<String> {
        let texts: Vec<&str> = strings(value).collect();
        if texts.is_empty() {
            return None;
        }
        let text = *self.pick(&texts);
        let text = match modifier {
            ":exact" => self.cased(text),
            ":contains" => self.part(text, false),
            _ => self.part(text, true),
        };
        // A value of only invisible characters is refused.
        (!fold(&text).is_empty()).then(|| escaped(&text))
    }

    fn prefix(&mut self) -> &'static str {
        const ALL: [&str; 11] = ["", "", "eq", "ne", "gt", "lt", "ge", "le", "sa", "eb", "ap"];
        let drawn = ALL[self.below(ALL.len())];
        self.prefix.unwrap_or(drawn)
    }

    fn date(&mut self, value: &Value) -> Option<String> {
        let texts = [
            value,
            &value["start"],
            &value["end"],
            &value["event"][0],
            &value["repeat"]["boundsPeriod"]["start"],
            &value["repeat"]["boundsPeriod"]["end"],
        ];
        let texts: Vec<&str> = texts.into_iter().filter_map(Value::as_str).collect();
        if texts.is_empty() {
            return None;
        }
        let text = *self.pick(&texts);
        let text = match self.below(6) {
            0 => text.get(..4)?.to_owned(),
            1 => text.get(..7).unwrap_or(text).to_owned(),
            2 => text.get(..10).unwrap_or(text).to_owned(),
            3 if text.len() > 16 => format!("{}Z", &text[..16]),
            // The same time in another zone.
            4 if text.len() > 10 => {
                let moment = chrono::DateTime::from_timestamp_micros(span(text)?.0)?;
                let zone = chrono::FixedOffset::east_opt(19_800)?;
                moment.with_timezone(&zone).format("%Y-%m-%dT%H:%M:%S%:z").to_string()
            }
            _ => text.to_owned(),
        };
        Some(format!("{}{text}", self.prefix()))
    }

    fn number(&mut self, number: f64) -> Option<String> {
        let text = match self.below(7) {
            0 => format!("{number:.0}"),
            1 => format!("{number:.1}"),
            2 => format!("{number:.2}"),
            3 => format!("{number:.1e}"),
            4 => format!("{number:.0e}"),
            5 => format!("{:.3}", number * 1.05),
            _ => number.to_string(),
        };
        let text = if text.len() > 15 { format!("{number:.3}") } else { text };
        Some(format!("{}{text}", self.prefix()))
    }

    fn quantity(&mut self, value: &Value) -> Option<String> {
        if let Some(data) = value["data"].as_str() {
            let points: Vec<f64> = data.split(' ').filter_map(|point| point.parse().ok()).collect();
            let (origin, factor) = (
                value["origin"]["value"].as_f64()?,
                value["factor"].as_f64().unwrap_or(1.0),
            );
            let point = if points.is_empty() { 0.0 } else { *self.pick(&points) };
            let number = self.number(origin + point * factor)?;
            let code = value["origin"]["code"].as_str().map(escaped);
            return Some(match code.filter(|_| self.chance(30)) {
                Some(code) => format!("{number}||{code}"),
                None => number,
            });
        }
        let bounds = [&value["low"], &value["high"]];
        let value = bounds.into_iter().find(|bound| bound.is_object()).unwrap_or(value);
        let number = self.number(value["value"].as_f64()?)?;
        let text = |name: &str| value[name].as_str().map(escaped);
        let (system, code) = match text("currency") {
            Some(currency) => (Some("urn:iso:std:iso:4217".to_owned()), Some(currency)),
            None => (text("system"), text("code")),
        };
        Some(match (system, code, text("unit"), self.below(6)) {
            (Some(system), Some(code), _, 0 | 1) => format!("{number}|{system}|{code}"),
            (_, Some(code), _, 2) => format!("{number}||{code}"),
            (_, _, Some(unit), 3) => format!("{number}||{unit}"),
            (Some(_), Some(code), _, 4) => format!("{number}|http://example.org/none|{code}"),
            _ => number,
        })
    }

    fn reference(&mut self, modifier: &str, value: &Value) -> Option<String> {
        let Some(name) = relative(value) else {
            let text = value.as_str().or_else(|| value["reference"].as_str())?;
            let text = if self.chance(40) { text.split('|').next()? } else { text };
            // A type in a modifier must be the reference's own.
            let text = match text.split_once('/') {
                Some((resource_type, id))
                    if resource_type.starts_with(char::is_uppercase) && !id.contains('|') && self.chance(30) =>
                {
                    id
                }
                _ => text,
            };
            return Some(escaped(text));
        };
        let id = name.split('/').nth(1)?;
        Some(match self.below(4) {
            0 | 1 if modifier.is_empty() => name.clone(),
            2 if modifier.is_empty() => format!("{BASE}{name}"),
            _ => id.to_owned(),
        })
    }

    fn uri(&mut self, modifier: &str, text: &str) -> Option<String> {
        Some(escaped(&match modifier {
            ":below" => {
                let slashes: Vec<usize> = text.match_indices('/').map(|(at, _)| at).filter(|at| *at > 8).collect();
                if slashes.is_empty() {
                    text.to_owned()
                } else {
                    let cut = *self.pick(&slashes) + self.below(3);
                    text.get(..cut).unwrap_or(text).to_owned()
                }
            }
            ":above" => format!("{text}{}", self.pick(&["", "/x", "x", "|1.0", "/a/b"])),
            _ if self.chance(15) => text.to_uppercase(),
            _ => text.to_owned(),
        }))
    }

    fn place(&mut self, value: &Value) -> Option<String> {
        let (latitude, longitude) = (value["latitude"].as_f64()?, value["longitude"].as_f64()?);
        let distance = *self.pick(&["", "|30", "|30|km", "|250|km", "|800000|m", "|12|[mi_us]"]);
        Some(format!("{latitude:.4}|{longitude:.4}{distance}"))
    }
}
