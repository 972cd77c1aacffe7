//! Parses a text to a syntax tree. `grammar/fhirpath.pest` splits the text. This file applies operator precedence,
//! removes escapes and limits the tree's height, so that no recursion over the tree can exhaust the stack. It does
//! not resolve names or types.

use pest::Parser as _;
use pest::iterators::Pair;

use super::super::error::{FhirPathError, Position};
use super::ast::{Expr, ExprKind, Literal, Operator, TYPE_TEST_PRECEDENCE, TypeName};

/// The maximum height of a syntax tree. Long chains of `and`, `or` or `|` stay below it, because a chain becomes a
/// balanced tree: its height is only the logarithm of the chain's length.
pub const MAX_HEIGHT: usize = 100;
/// The maximum length of an expression in bytes.
pub const MAX_LENGTH: usize = 64 * 1024;

#[derive(pest_derive::Parser)]
#[grammar = "../grammar/fhirpath.pest"]
#[allow(missing_docs)]
struct Grammar;

/// Parses an expression.
pub fn parse(text: &str) -> Result<Expr, FhirPathError> {
    if text.len() > MAX_LENGTH {
        return Err(FhirPathError::TooLong {
            length: text.len(),
            limit: MAX_LENGTH,
        });
    }
    refuse_deep_brackets(text)?;
    let mut pairs = Grammar::parse(Rule::program, text).map_err(|error| syntax_error(text, &error))?;
    let builder = Builder { text };
    match pairs.next().and_then(|program| program.into_inner().next()) {
        Some(expression) => builder.expression(expression),
        None => Err(builder.syntax(0, "an expression")),
    }
}

/// Returns an error if brackets nest too deep. This check is in addition to the check of the tree's height, because the
/// grammar recurses once per bracket before there is a tree.
fn refuse_deep_brackets(text: &str) -> Result<(), FhirPathError> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'`') => {
                at += 1;
                while at < bytes.len() && bytes[at] != quote {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += memchr::memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at += 2 + memchr::memmem::find(&bytes[at + 2..], b"*/").unwrap_or(bytes.len());
            }
            b'(' | b'[' => {
                depth += 1;
                if depth > MAX_HEIGHT {
                    return Err(FhirPathError::TooDeep {
                        at: Position::of(text, at),
                        limit: MAX_HEIGHT,
                    });
                }
            }
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

fn syntax_error(text: &str, error: &pest::error::Error<Rule>) -> FhirPathError {
    let offset = match error.location {
        pest::error::InputLocation::Pos(at) | pest::error::InputLocation::Span((at, _)) => at,
    };
    let found = match text.get(offset..).and_then(|rest| rest.chars().next()) {
        Some(found) => format!("unexpected '{found}'"),
        None => "unexpected end".to_string(),
    };
    FhirPathError::Syntax {
        at: Position::of(text, offset),
        reason: found,
    }
}

/// An element of the flat list of operands and operators that the grammar yields.
enum Token {
    Operand(Expr),
    TypeTest { cast: bool, type_name: TypeName, at: usize },
    Infix(Operator, usize),
}

struct Builder<'a> {
    text: &'a str,
}

type Tokens = std::iter::Peekable<std::vec::IntoIter<Token>>;

impl<'a> Builder<'a> {
    fn expression(&self, pair: Pair<'a, Rule>) -> Result<Expr, FhirPathError> {
        let mut tokens = Vec::new();
        for part in pair.into_inner() {
            let at = part.as_span().start();
            tokens.push(match part.as_rule() {
                Rule::operand => Token::Operand(self.operand(part)?),
                Rule::type_test => self.type_test(part)?,
                _ => Token::Infix(
                    Operator::parse(part.as_str()).ok_or_else(|| self.syntax(at, "an operator"))?,
                    at,
                ),
            });
        }
        self.climb(&mut tokens.into_iter().peekable(), 0)
    }

    /// Builds the tree of the next operand and of the operators after it that bind at least as tightly as
    /// `min_precedence` (precedence climbing). All operators are left-associative.
    fn climb(&self, tokens: &mut Tokens, min_precedence: u8) -> Result<Expr, FhirPathError> {
        let mut left = match tokens.next() {
            Some(Token::Operand(operand)) => operand,
            _ => return Err(self.syntax(0, "an operand")),
        };
        loop {
            match tokens.peek() {
                Some(Token::TypeTest { .. }) if TYPE_TEST_PRECEDENCE >= min_precedence => {
                    let Some(Token::TypeTest { cast, type_name, at }) = tokens.next() else {
                        continue;
                    };
                    left = self.node(
                        at,
                        ExprKind::TypeTest {
                            cast,
                            operand: Box::new(left),
                            type_name,
                        },
                    )?;
                }
                Some(Token::Infix(operator, _)) if operator.precedence() >= min_precedence => {
                    let operator = *operator;
                    left = self.chain(tokens, left, operator)?;
                }
                _ => return Ok(left),
            }
        }
    }

    /// Builds the tree of `left op x op y ...` for one operator. For an associative operator, takes the whole chain and
    /// builds a balanced tree. For another operator, takes only the first `op x`. The caller then repeats the call, so
    /// the tree leans to the left.
    fn chain(&self, tokens: &mut Tokens, left: Expr, operator: Operator) -> Result<Expr, FhirPathError> {
        let associative = matches!(operator, Operator::And | Operator::Or | Operator::Union);
        let mut operands = vec![(0, left)];
        while let Some(Token::Infix(next, at)) = tokens.peek() {
            if *next != operator || (operands.len() > 1 && !associative) {
                break;
            }
            let at = *at;
            tokens.next();
            operands.push((at, self.climb(tokens, operator.precedence() + 1)?));
        }
        self.balance(operator, operands)
    }

    fn balance(&self, operator: Operator, mut operands: Vec<(usize, Expr)>) -> Result<Expr, FhirPathError> {
        if operands.len() <= 1 {
            return operands
                .pop()
                .map(|(_, operand)| operand)
                .ok_or_else(|| self.syntax(0, "an operand"));
        }
        let right = operands.split_off(operands.len().div_ceil(2));
        let at = right[0].0;
        let left = Box::new(self.balance(operator, operands)?);
        let right = Box::new(self.balance(operator, right)?);
        self.node(at, ExprKind::Binary { operator, left, right })
    }

    fn operand(&self, pair: Pair<'a, Rule>) -> Result<Expr, FhirPathError> {
        let mut signs = Vec::new();
        let mut expr = None;
        for part in pair.into_inner() {
            let at = part.as_span().start();
            match part.as_rule() {
                Rule::plus_sign | Rule::minus_sign => signs.push((part.as_rule() == Rule::minus_sign, at)),
                Rule::step => {
                    let on = expr.take().map(Box::new);
                    expr = Some(self.invocation(self.only(part)?, on)?);
                }
                Rule::indexer => {
                    let index = Box::new(self.expression(self.only(part)?)?);
                    let on = Box::new(expr.take().ok_or_else(|| self.syntax(at, "an operand"))?);
                    expr = Some(self.node(at, ExprKind::Indexer { on, index })?);
                }
                _ => expr = Some(self.term(part)?),
            }
        }
        let mut expr = expr.ok_or_else(|| self.syntax(0, "an operand"))?;
        for (negative, at) in signs.into_iter().rev() {
            expr = self.node(
                at,
                ExprKind::Sign {
                    negative,
                    operand: Box::new(expr),
                },
            )?;
        }
        Ok(expr)
    }

    fn type_test(&self, pair: Pair<'a, Rule>) -> Result<Token, FhirPathError> {
        let at = pair.as_span().start();
        let mut parts = pair.into_inner();
        let cast = parts.next().is_some_and(|operator| operator.as_str() == "as");
        let name = parts.next().ok_or_else(|| self.syntax(at, "a type"))?;
        let name_at = name.as_span().start();
        let mut names = Vec::new();
        for part in name.into_inner() {
            names.push(self.identifier(part)?);
        }
        let name = names.pop().unwrap_or_default();
        Ok(Token::TypeTest {
            cast,
            type_name: TypeName {
                namespace: names.pop(),
                name,
                at: name_at,
            },
            at,
        })
    }

    fn term(&self, part: Pair<'a, Rule>) -> Result<Expr, FhirPathError> {
        let at = part.as_span().start();
        let text = part.as_str();
        let kind = match part.as_rule() {
            Rule::parenthesized => return self.expression(self.only(part)?),
            Rule::invocation => return self.invocation(part, None),
            Rule::variable => match text {
                "$this" => ExprKind::This,
                "$index" => ExprKind::Index,
                _ => ExprKind::Total,
            },
            Rule::external => {
                let name = self.only(part)?;
                ExprKind::External(match name.as_rule() {
                    Rule::string => self.quoted(name)?,
                    Rule::of_fhir => name.as_str().to_string(),
                    _ => self.identifier(name)?,
                })
            }
            _ => self.literal(part)?,
        };
        self.node(at, kind)
    }

    fn literal(&self, part: Pair<'a, Rule>) -> Result<ExprKind, FhirPathError> {
        let text = part.as_str();
        let temporal = text.trim_start_matches('@');
        Ok(ExprKind::Literal(match part.as_rule() {
            Rule::empty => return Ok(ExprKind::Empty),
            Rule::boolean => Literal::Boolean(text == "true"),
            Rule::string => Literal::String(self.quoted(part)?),
            Rule::number => number(text),
            Rule::long => Literal::Long(text.trim_end_matches('L').to_string()),
            Rule::date => Literal::Date(temporal.to_string()),
            Rule::datetime => Literal::DateTime(temporal.to_string()),
            Rule::time => Literal::Time(temporal.trim_start_matches('T').to_string()),
            _ => {
                let at = part.as_span().start();
                let mut parts = part.into_inner();
                let value = parts.next().map(|value| value.as_str().to_string()).unwrap_or_default();
                let unit = parts.next().ok_or_else(|| self.syntax(at, "a unit"))?;
                match unit.as_rule() {
                    Rule::string => Literal::Quantity {
                        value,
                        unit: self.quoted(unit)?,
                        calendar: false,
                    },
                    _ => Literal::Quantity {
                        value,
                        unit: unit.as_str().to_string(),
                        calendar: true,
                    },
                }
            }
        }))
    }

    fn invocation(&self, part: Pair<'a, Rule>, on: Option<Box<Expr>>) -> Result<Expr, FhirPathError> {
        let at = part.as_span().start();
        let inner = self.only(part)?;
        if inner.as_rule() == Rule::word {
            let name = inner.as_str().to_string();
            return self.node(at, ExprKind::Member { on, name });
        }
        if inner.as_rule() == Rule::identifier {
            let name = self.identifier(inner)?;
            return self.node(at, ExprKind::Member { on, name });
        }
        let mut parts = inner.into_inner();
        let name = match parts.next() {
            Some(name) => self.identifier(name)?,
            None => return Err(self.syntax(at, "a function's name")),
        };
        let arguments = parts
            .map(|argument| self.expression(argument))
            .collect::<Result<_, _>>()?;
        self.node(at, ExprKind::Call { on, name, arguments })
    }

    fn identifier(&self, pair: Pair<'a, Rule>) -> Result<String, FhirPathError> {
        let inner = self.only(pair)?;
        match inner.as_rule() {
            Rule::delimited => self.quoted(inner),
            _ => Ok(inner.as_str().to_string()),
        }
    }

    /// Returns the contents of a string or delimited identifier, with escapes replaced.
    fn quoted(&self, pair: Pair<'a, Rule>) -> Result<String, FhirPathError> {
        let inner = self.only(pair)?;
        let at = inner.as_span().start();
        unescape(inner.as_str()).ok_or_else(|| self.syntax(at, "four hexadecimal digits after \\u"))
    }

    fn only(&self, pair: Pair<'a, Rule>) -> Result<Pair<'a, Rule>, FhirPathError> {
        let at = pair.as_span().start();
        pair.into_inner().next().ok_or_else(|| self.syntax(at, "an expression"))
    }

    fn node(&self, at: usize, kind: ExprKind) -> Result<Expr, FhirPathError> {
        let below = match &kind {
            ExprKind::Member { on, .. } => on.as_ref().map_or(0, |on| on.height),
            ExprKind::Call { on, arguments, .. } => {
                let on = on.as_ref().map_or(0, |on| on.height);
                arguments.iter().map(|argument| argument.height).fold(on, usize::max)
            }
            ExprKind::Indexer { on, index } => on.height.max(index.height),
            ExprKind::Sign { operand, .. } | ExprKind::TypeTest { operand, .. } => operand.height,
            ExprKind::Binary { left, right, .. } => left.height.max(right.height),
            _ => 0,
        };
        if below >= MAX_HEIGHT {
            return Err(FhirPathError::TooDeep {
                at: Position::of(self.text, at),
                limit: MAX_HEIGHT,
            });
        }
        Ok(Expr {
            kind,
            at,
            height: below + 1,
        })
    }

    fn syntax(&self, at: usize, expected: &str) -> FhirPathError {
        FhirPathError::Syntax {
            at: Position::of(self.text, at),
            reason: format!("expected {expected}"),
        }
    }
}

fn number(text: &str) -> Literal {
    if text.contains('.') {
        Literal::Decimal(text.to_string())
    } else {
        Literal::Integer(text.to_string())
    }
}

/// Replaces escapes by their characters. A backslash before a character that needs no escape is dropped. `None` if four
/// hexadecimal digits do not follow `\u`.
fn unescape(text: &str) -> Option<String> {
    if !text.contains('\\') {
        return Some(text.to_string());
    }
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(next) = chars.next() {
        let mut buffer = [0; 2];
        let plain = match next {
            '\\' => match chars.next()? {
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'f' => '\u{c}',
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    if digits.len() != 4 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                        return None;
                    }
                    units.push(u16::from_str_radix(&digits, 16).ok()?);
                    continue;
                }
                other => other,
            },
            other => other,
        };
        units.extend_from_slice(plain.encode_utf16(&mut buffer));
    }
    Some(String::from_utf16_lossy(&units))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the tree as text, with each operator before its operands and in brackets.
    fn shown(expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Empty => "{}".to_string(),
            ExprKind::Literal(literal) => match literal {
                Literal::Boolean(value) => value.to_string(),
                Literal::String(text) => format!("'{text}'"),
                Literal::Integer(text) | Literal::Decimal(text) => text.clone(),
                Literal::Long(text) => format!("{text}L"),
                Literal::Date(text) | Literal::DateTime(text) | Literal::Time(text) => format!("@{text}"),
                Literal::Quantity { value, unit, .. } => format!("{value}_{unit}"),
            },
            ExprKind::External(name) => format!("%{name}"),
            ExprKind::This => "$this".to_string(),
            ExprKind::Index => "$index".to_string(),
            ExprKind::Total => "$total".to_string(),
            ExprKind::Member { on: None, name } => name.clone(),
            ExprKind::Member { on: Some(on), name } => format!("{}.{name}", shown(on)),
            ExprKind::Call { on, name, arguments } => {
                let on = on.as_ref().map(|on| shown(on) + ".").unwrap_or_default();
                format!(
                    "{on}{name}({})",
                    arguments.iter().map(shown).collect::<Vec<_>>().join(", ")
                )
            }
            ExprKind::Indexer { on, index } => format!("{}[{}]", shown(on), shown(index)),
            ExprKind::Sign { negative, operand } => {
                format!("({} {})", if *negative { '-' } else { '+' }, shown(operand))
            }
            ExprKind::Binary { operator, left, right } => {
                format!("({} {} {})", operator.symbol(), shown(left), shown(right))
            }
            ExprKind::TypeTest {
                cast,
                operand,
                type_name,
            } => {
                let namespace = type_name
                    .namespace
                    .as_ref()
                    .map(|name| format!("{name}."))
                    .unwrap_or_default();
                format!(
                    "({} {} {namespace}{})",
                    if *cast { "as" } else { "is" },
                    shown(operand),
                    type_name.name
                )
            }
        }
    }

    #[track_caller]
    fn check(text: &str, tree: &str) {
        assert_eq!(parse(text).map(|expr| shown(&expr)), Ok(tree.to_string()), "{text}");
    }

    #[test]
    fn operators_bind_as_the_specification_orders_them() {
        check("a or b and c implies d", "(implies (or a (and b c)) d)");
        check("1 + 2 * 3 - 4", "(- (+ 1 (* 2 3)) 4)");
        check("a | b = c in d", "(in (= (| a b) c) d)");
        check("a < b + c is Integer", "(< a (is (+ b c) Integer))");
        check("-1.abs() * 2", "(* (- 1.abs()) 2)");
        check("- -x.y[0]", "(- (- x.y[0]))");
        check(
            "(a as FHIR.Quantity).value > 5 'mg'",
            "(> (as a FHIR.Quantity).value 5_mg)",
        );
        check("a contains b and not()", "(and (contains a b) not())");
        check("a xor b or c", "(or (xor a b) c)");
        check("a div b mod c", "(mod (div a b) c)");
    }

    #[test]
    fn words_of_operators_may_be_names() {
        check("contains.as.is.in", "contains.as.is.in");
        check("x.contains('y')", "x.contains('y')");
        check("`div`.`a b`", "div.a b");
        check("isActive and inside", "(and isActive inside)");
        check("value.day", "value.day");
        check("text.div div 2", "(div text.div 2)");
    }

    #[test]
    fn literals() {
        check("7L + 07L", "(+ 7L 07L)");
        check("@2015", "@2015");
        check("@2015-02-04T14:34:28.5+09:00", "@2015-02-04T14:34:28.5+09:00");
        check("@2015T", "@2015T");
        check("@T14:30", "@14:30");
        check("4 days", "4_days");
        check(r"'it\'s \u0041\n\p'", "'it's A\np'");
        check("%resource | %`a b` | %'vs-x'", "(| (| %resource %a b) %vs-x)");
        check(
            "%vs-a-b & %ext-c.length() - %vs - x",
            "(- (- (& %vs-a-b %ext-c.length()) %vs) x)",
        );
        check("1.5.round() // rest\n + /* in between */ 2", "(+ 1.5.round() 2)");
        check("{}", "{}");
    }

    #[test]
    fn errors_name_their_place() {
        let error = parse("name.\n  where(use = )").unwrap_err();
        assert_eq!(
            error.to_string(),
            "FHIRPath syntax error at line 2, column 15: unexpected ')'"
        );
        for wrong in [
            "", "a b", "a.", "'open", "@20", "a[", "1 +", "$that", "%", "a..b", "`x", "/* open",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn depth_is_bounded_but_chains_of_or_are_not() {
        let brackets = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        assert!(parse(&brackets(MAX_HEIGHT)).is_ok());
        assert!(matches!(
            parse(&brackets(MAX_HEIGHT + 1)),
            Err(FhirPathError::TooDeep { .. })
        ));
        assert!(matches!(parse(&"-".repeat(5000)), Err(FhirPathError::Syntax { .. })));
        assert!(matches!(
            parse(&("-".repeat(5000) + "1")),
            Err(FhirPathError::TooDeep { .. })
        ));
        assert!(matches!(
            parse(&("a".to_string() + &".b".repeat(5000))),
            Err(FhirPathError::TooDeep { .. })
        ));
        assert!(matches!(
            parse(&("1".to_string() + &" + 1".repeat(5000))),
            Err(FhirPathError::TooDeep { .. })
        ));
        assert!(parse(&("a".to_string() + &" or a".repeat(5000))).is_ok());
        assert!(matches!(
            parse(&"a".repeat(MAX_LENGTH + 1)),
            Err(FhirPathError::TooLong { .. })
        ));
    }
}
