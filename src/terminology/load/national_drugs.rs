//! Reads FDA's NDC directory: product.txt, one line for each product (9 digits), and package.txt, one for each package
//! (11 digits).

use super::part::Part;
use crate::published::Lines;
use crate::terminology::codes::{ndc, systems};
use crate::terminology::error::TerminologyError;
use crate::terminology::system::builder::Builder;
use crate::terminology::system::code_system::{CodeSystem, Head};

/// Reads products, and packages if they are given. A package becomes a child of its product, and has no display of its
/// own.
pub(super) fn read(
    products: &Part,
    packages: Option<&Part>,
    version: Option<String>,
) -> Result<CodeSystem, TerminologyError> {
    // The directory lacks drugs that have left the market. So the system is partial: a missing code may be an NDC.
    let mut builder = Builder::new(Head::partial(systems::NDC, version));
    products.read(|reader| take_products(&mut Lines::new(reader, &products.name), &mut builder))?;
    if let Some(packages) = packages {
        packages.read(|reader| take_packages(&mut Lines::new(reader, &packages.name), &mut builder))?;
    }
    builder.finish()
}

/// The names of a file's columns in upper case, in the order of the columns.
struct Header(Vec<String>);

impl Header {
    fn read(lines: &mut Lines<'_>) -> Result<Header, TerminologyError> {
        lines.advance()?;
        let names = lines.text().split('\t').map(|name| name.trim().to_ascii_uppercase());
        Ok(Header(names.collect()))
    }

    fn fields<'l>(&self, lines: &'l Lines<'_>) -> Result<Vec<&'l str>, TerminologyError> {
        let fields: Vec<&str> = lines.text().split('\t').map(str::trim).collect();
        if fields.len() >= self.0.len() {
            Ok(fields)
        } else {
            Err(lines
                .fail(&format!("{} columns, as the header has,", self.0.len()))
                .into())
        }
    }

    fn get<'f>(&self, fields: &[&'f str], name: &str) -> &'f str {
        let column = self.0.iter().position(|known| known == name);
        column
            .and_then(|column| fields.get(column))
            .copied()
            .unwrap_or_default()
    }
}

fn take_products(lines: &mut Lines<'_>, builder: &mut Builder) -> Result<(), TerminologyError> {
    let header = Header::read(lines)?;
    while lines.advance()? {
        let fields = header.fields(lines)?;
        let get = |name: &str| header.get(&fields, name);
        let code = ndc::product_digits(get("PRODUCTNDC"));
        let code = code.ok_or_else(|| lines.fail("a labeler and a product with a hyphen in PRODUCTNDC"))?;
        let (place, added) = builder.concept(&code)?;
        if !added {
            // A product with several routes or strengths may have several lines. The first one counts.
            continue;
        }
        builder.display(place, &display(get))?;
        for (name, column) in [("nonproprietaryName", "NONPROPRIETARYNAME"), ("labeler", "LABELERNAME")] {
            if !get(column).is_empty() {
                builder.property(place, name, get(column))?;
            }
        }
    }
    Ok(())
}

/// Returns the display of a product: its name, its substance in parentheses, its strength and its dosage form.
fn display<'f>(get: impl Fn(&str) -> &'f str) -> String {
    let mut display = get("PROPRIETARYNAME").to_string();
    let mut add = |text: &str| {
        if !text.is_empty() {
            display.push(' ');
            display.push_str(text);
        }
    };
    add(get("PROPRIETARYNAMESUFFIX"));
    let name = get("NONPROPRIETARYNAME");
    if !name.is_empty() && !name.eq_ignore_ascii_case(get("PROPRIETARYNAME")) {
        add(&format!("({name})"));
    }
    let (strengths, units) = (get("ACTIVE_NUMERATOR_STRENGTH"), get("ACTIVE_INGRED_UNIT"));
    let strengths: Vec<&str> = strengths
        .split(';')
        .map(str::trim)
        .filter(|strength| !strength.is_empty())
        .collect();
    let units: Vec<&str> = units.split(';').map(str::trim).collect();
    let each = strengths.iter().enumerate().map(|(at, strength)| {
        let unit = units.get(at).copied().unwrap_or_default();
        // FDA writes `mg/1` for the strength of a single unit, such as a tablet. Leave out the `/1`.
        format!("{strength} {}", unit.strip_suffix("/1").unwrap_or(unit))
            .trim_end()
            .to_string()
    });
    add(&each.collect::<Vec<_>>().join("; "));
    add(get("DOSAGEFORMNAME"));
    display.trim().to_string()
}

fn take_packages(lines: &mut Lines<'_>, builder: &mut Builder) -> Result<(), TerminologyError> {
    let header = Header::read(lines)?;
    while lines.advance()? {
        let fields = header.fields(lines)?;
        let code = ndc::eleven_digits(header.get(&fields, "NDCPACKAGECODE"));
        let code = code.ok_or_else(|| lines.fail("an NDC in three hyphenated parts in NDCPACKAGECODE"))?;
        let (place, _) = builder.concept(&code)?;
        if let Some(product) = builder.place(&code[..9]) {
            builder.join(product, place);
        }
    }
    Ok(())
}
