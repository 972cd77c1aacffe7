//! Parses amounts of dollars as CMS's spreadsheets write them.

/// Converts an amount such as `$1,234.00`, `($60.80)`, `-$7.20` or `$-` (zero) into a decimal. `None` if the text has
/// no digits, such as `Not Applicable`. Returns an error if it has digits and is not an amount.
pub(super) fn decimal(text: &str) -> Result<Option<String>, ()> {
    let plain: String = text
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, '$' | ','))
        .collect();
    if plain == "-" {
        return Ok(Some("0.00".to_owned()));
    }
    if !plain.bytes().any(|byte| byte.is_ascii_digit()) {
        return Ok(None);
    }
    let inner = plain.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
    let (negative, digits) = match (inner, plain.strip_prefix('-')) {
        (Some(inner), _) => (true, inner),
        (None, Some(digits)) => (true, digits),
        (None, None) => (false, plain.as_str()),
    };
    let (whole, cents) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(cents) || whole.len() > 9 || cents.len() > 4 {
        return Err(());
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let amount = format!("{whole}.{cents:0<2}");
    let is_zero = amount.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    Ok(Some(if negative && !is_zero {
        format!("-{amount}")
    } else {
        amount
    }))
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn amounts_are_decimals() {
        for (text, expected) in [
            ("$1,234.00 ", Some("1234.00")),
            ("25.5", Some("25.50")),
            ("$0", Some("0.00")),
            (" $-   ", Some("0.00")),
            ("($60.80)", Some("-60.80")),
            ("-$7.20", Some("-7.20")),
            (".5", Some("0.50")),
            ("Not Applicable", None),
            ("N/A", None),
            ("", None),
        ] {
            assert_eq!(decimal(text), Ok(expected.map(str::to_owned)), "{text}");
        }
        for text in ["12x", "1.2.3", "$1 to $2", "99999999999"] {
            assert_eq!(decimal(text), Err(()), "{text}");
        }
    }
}
