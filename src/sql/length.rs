//! Limits the number of chained operators and of tables in a statement.
//!
//! The parser turns `a || b || c` and `x OR y OR z` into nested operators, and DataFusion recurses into such a chain.
//! The parser limits the nesting of brackets, but not the length of chains. So this file refuses a chain that would
//! exhaust a thread's stack.

use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use rustc_hash::FxHashMap;

use super::error::SqlError;

/// The maximum number of operators in a chain.
pub(super) const MAX_OPERATORS: usize = 1_000;
/// The maximum nesting of a statement: of brackets, CASE, and operators before their operand (`NOT NOT`, `- -`).
pub(super) const MAX_NESTED: usize = 48;
/// The maximum nesting of queries in brackets. The time to plan a query grows fast with this number.
pub(super) const MAX_QUERIES: usize = 16;
/// The maximum number of tables and queries that a statement may combine by joins and by UNION, INTERSECT or EXCEPT.
pub(super) const MAX_TABLES: usize = 500;

/// The state of reading inside one pair of brackets, or inside a CASE.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    operators: usize,
    /// Whether the list of a FROM is being read, so that a comma is followed by a table.
    lists_tables: bool,
    is_case: bool,
    /// Whether a query begins in this bracket.
    is_query: bool,
    /// The number of tables that were counted before this bracket. `None` unless the bracket holds the query of a
    /// common table expression.
    query_since: Option<usize>,
    /// Whether the next word is the name of a table.
    expects_table: bool,
}

/// The level of the current token and the levels around it.
#[derive(Debug, Default)]
struct Levels {
    outer: Vec<Level>,
    level: Level,
    /// The number of operators in all outer levels together.
    around: usize,
}

impl Levels {
    fn open(&mut self, is_case: bool) {
        self.around += self.level.operators;
        let inner = Level {
            is_case,
            ..Level::default()
        };
        self.outer.push(std::mem::replace(&mut self.level, inner));
    }

    /// Returns the number of queries in brackets around the current token.
    fn queries(&self) -> usize {
        let levels = self.outer.iter().chain([&self.level]);
        levels.filter(|level| level.is_query).count()
    }

    fn close(&mut self) {
        let inner = self.level.operators;
        self.level = self.outer.pop().unwrap_or_default();
        self.around -= self.level.operators.min(self.around);
        self.level.operators = self.level.operators.max(inner);
    }
}

/// Refuses a statement that chains too many operators or combines too many tables. Accepts text that the tokenizer
/// cannot read, because the parser reports it.
pub(super) fn check(text: &str, dialect: &dyn Dialect) -> Result<(), SqlError> {
    let Ok(tokens) = Tokenizer::new(dialect, text).tokenize() else {
        return Ok(());
    };
    let mut levels = Levels::default();
    let mut tables = 0;
    let mut last = Keyword::NoKeyword;
    // The number of tables that each common table expression reads, by its name. Each use of the expression adds this
    // number, because DataFusion plans its query again for each use.
    let mut queries: FxHashMap<String, usize> = FxHashMap::default();
    // `name` is the last name in the current bracket, `names` has the last name before each enclosing bracket. If a
    // bracket holds the query of a common table expression, the name before it is the name of that expression.
    let (mut names, mut name): (Vec<String>, _) = (Vec::new(), String::new());
    // The number of operators directly before the current token.
    let mut prefixes = 0;
    for token in &tokens {
        prefixes = match token {
            Token::Whitespace(_) => prefixes,
            Token::Word(word) if is_prefix(word.keyword) => prefixes + 1,
            Token::Word(_) | Token::LParen | Token::RParen | Token::LBracket | Token::RBracket | Token::Comma => 0,
            token if is_operator(token) => prefixes + 1,
            _ => 0,
        };
        match token {
            Token::Whitespace(_) => continue,
            Token::LParen => {
                let is_query = matches!(last, Keyword::AS | Keyword::MATERIALIZED);
                names.push(name.clone());
                let expects_table = std::mem::take(&mut levels.level.expects_table);
                levels.open(false);
                levels.level.expects_table = expects_table;
                levels.level.query_since = is_query.then_some(tables);
            }
            Token::LBracket => {
                levels.level.operators += 1;
                levels.open(false);
            }
            Token::RParen => {
                let since = levels.level.query_since;
                levels.close();
                name = names.pop().unwrap_or_default();
                if let Some(since) = since {
                    queries.insert(name.clone(), 1 + tables.saturating_sub(since));
                    tables = since + 1;
                }
            }
            Token::RBracket => levels.close(),
            Token::Comma => {
                tables += usize::from(levels.level.lists_tables);
                levels.level.operators = 0;
                levels.level.expects_table = levels.level.lists_tables;
            }
            Token::Word(word) => {
                let text = word.value.to_lowercase();
                if std::mem::take(&mut levels.level.expects_table) {
                    tables += queries.get(&text).copied().unwrap_or_default();
                }
                if !matches!(word.keyword, Keyword::AS | Keyword::NOT | Keyword::MATERIALIZED) {
                    name = text;
                }
                let operators = &mut levels.level.operators;
                match word.keyword {
                    Keyword::JOIN => {
                        tables += 1;
                        levels.level.expects_table = true;
                    }
                    Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT => tables += 1,
                    // The FROM in `a IS DISTINCT FROM b` is followed by no table.
                    Keyword::FROM if last == Keyword::DISTINCT => {}
                    Keyword::FROM => {
                        levels.level.operators = 0;
                        levels.level.lists_tables = true;
                        levels.level.expects_table = true;
                    }
                    Keyword::SELECT | Keyword::WHERE | Keyword::HAVING | Keyword::ORDER => {
                        levels.level.is_query |= !levels.outer.is_empty();
                        levels.level.operators = 0;
                        levels.level.lists_tables = false;
                    }
                    // The GROUP in `WITHIN GROUP` is a part of an expression, not a GROUP BY.
                    Keyword::GROUP if last != Keyword::WITHIN => {
                        levels.level.operators = 0;
                        levels.level.lists_tables = false;
                    }
                    Keyword::CASE => levels.open(true),
                    Keyword::END if levels.level.is_case => levels.close(),
                    Keyword::WHEN | Keyword::THEN | Keyword::ELSE | Keyword::ON => *operators = 0,
                    Keyword::AND
                    | Keyword::OR
                    | Keyword::XOR
                    | Keyword::NOT
                    | Keyword::IS
                    | Keyword::IN
                    | Keyword::BETWEEN
                    | Keyword::LIKE
                    | Keyword::ILIKE
                    | Keyword::RLIKE
                    | Keyword::SIMILAR
                    | Keyword::COLLATE
                    | Keyword::DIV
                    | Keyword::OVERLAPS
                    | Keyword::AT => *operators += 1,
                    _ => {}
                }
            }
            token => levels.level.operators += usize::from(is_operator(token)),
        }
        last = match token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        if levels.outer.len() + prefixes > MAX_NESTED {
            return Err(SqlError::Statement(format!(
                "the statement is nested deeper than {MAX_NESTED} levels of brackets, CASE and operators"
            )));
        }
        if levels.queries() > MAX_QUERIES {
            return Err(SqlError::Statement(format!(
                "the statement has more than {MAX_QUERIES} queries inside one another; name inner queries by WITH"
            )));
        }
        if levels.around + levels.level.operators > MAX_OPERATORS {
            return Err(SqlError::Statement(format!(
                "the statement chains more than {MAX_OPERATORS} operators; compare with many values by IN (...)"
            )));
        }
        if tables > MAX_TABLES {
            return Err(SqlError::Statement(format!(
                "the statement joins or unites more than {MAX_TABLES} tables"
            )));
        }
    }
    Ok(())
}

/// Whether a word before an expression or a statement lets the parser begin another one.
fn is_prefix(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::NOT | Keyword::INTERVAL | Keyword::EXPLAIN | Keyword::ANALYZE | Keyword::VERBOSE
    )
}

/// Whether a token other than a word counts as an operator.
fn is_operator(token: &Token) -> bool {
    !matches!(
        token,
        Token::EOF
            | Token::Whitespace(_)
            | Token::SemiColon
            | Token::Number(..)
            | Token::Char(_)
            | Token::Period
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::DollarQuotedString(_)
            | Token::Placeholder(_)
    )
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::GenericDialect;

    use super::*;

    fn said(text: &str) -> String {
        check(text, &GenericDialect {}).map_or_else(|error| error.to_string(), |()| String::new())
    }

    #[test]
    fn long_chains_are_refused() {
        let long = MAX_OPERATORS + 1;
        for text in [
            format!("SELECT id{} FROM t", " || 'a'".repeat(long)),
            format!("SELECT 1 FROM t WHERE a{}", " OR a".repeat(long)),
            format!("SELECT (a{}){} FROM t", " + 1".repeat(long / 2), " + 1".repeat(long)),
            format!(
                "SELECT (a{}) + f(a{}) FROM t",
                " + 1".repeat(long - 5),
                " + 1".repeat(10)
            ),
            format!("SELECT a{} FROM t", "::INT".repeat(long)),
            format!("SELECT a{} FROM t", "[1]".repeat(long)),
            format!("SELECT true{}", " IN (true)".repeat(long)),
            format!("SELECT a{}", " AT TIME ZONE 'UTC'".repeat(long)),
            format!("SELECT a{}", " ILIKE 'a'".repeat(long)),
            format!("SELECT a{}", " XOR true".repeat(long)),
            format!("SELECT 1{}", " + CASE WHEN true THEN 1 ELSE 2 END".repeat(long)),
            format!("SELECT [1, 2]{}", " || [1, 2]".repeat(long)),
        ] {
            assert!(said(&text).starts_with("the statement chains more than 1000"), "{text}");
        }
        let many = MAX_TABLES + 1;
        for text in [
            format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(many)),
            format!("SELECT 1 FROM a{}", " CROSS JOIN b".repeat(many)),
            format!("SELECT 1 FROM a{} WHERE 1 = 1", ", b".repeat(many)),
            format!("SELECT DISTINCT * FROM a{}", ", b".repeat(many)),
            format!(
                "WITH t0 AS (SELECT 1 AS a){} SELECT * FROM t17",
                (0..17)
                    .map(|at| format!(", t{} AS (SELECT * FROM t{at} UNION ALL SELECT * FROM T{at})", at + 1))
                    .collect::<String>()
            ),
            format!(
                "WITH t0(a) AS NOT MATERIALIZED (SELECT 1){} SELECT * FROM t{many}",
                (0..many)
                    .map(|at| format!(", t{}(a) AS (SELECT * FROM t{at})", at + 1))
                    .collect::<String>()
            ),
        ] {
            assert!(
                said(&text).starts_with("the statement joins or unites more than 500"),
                "{text}"
            );
        }
    }

    #[test]
    fn long_lists_are_no_chains() {
        let many = 20 * MAX_OPERATORS;
        for text in [
            format!("SELECT 1 FROM t WHERE a IN ('x'{})", ", 'x'".repeat(many)),
            format!("SELECT a + 1{} FROM t", ", a + 1 AS b".repeat(many)),
            format!("SELECT CASE{} ELSE 1 END FROM t", " WHEN a = 1 THEN b + 1".repeat(many)),
            format!("SELECT f(a + 1){} FROM t", ", f(a + 1)".repeat(many)),
            format!("VALUES (1 + 1){}", ", (1 + 1)".repeat(many)),
            format!("SELECT a IS DISTINCT FROM b{} FROM t", ", a".repeat(many)),
        ] {
            assert_eq!(said(&text), "");
        }
    }
}
