//! The syntax tree of an expression, with byte offsets into its text. It represents the text and does not resolve
//! names or types.

/// An expression and its position in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// The kind of the expression.
    pub kind: ExprKind,
    /// The byte offset of the operator, the step's name or the literal. The expression itself may begin earlier:
    /// `a + b` has the offset of `+`.
    pub at: usize,
    /// The height of the expression's tree. The parser limits the height, so that recursion over the tree is safe.
    pub(in crate::fhirpath) height: usize,
}

/// The forms of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `{}`.
    Empty,
    /// A literal value.
    Literal(Literal),
    /// `%name`.
    External(String),
    /// `$this`.
    This,
    /// `$index`.
    Index,
    /// `$total`.
    Total,
    /// `name` or `on.name`.
    Member {
        /// The expression before the dot.
        on: Option<Box<Expr>>,
        /// The name, without delimiters.
        name: String,
    },
    /// `name(...)` or `on.name(...)`.
    Call {
        /// The expression before the dot.
        on: Option<Box<Expr>>,
        /// The function.
        name: String,
        /// The arguments.
        arguments: Vec<Expr>,
    },
    /// `on[index]`.
    Indexer {
        /// The collection.
        on: Box<Expr>,
        /// The requested position.
        index: Box<Expr>,
    },
    /// `-x` or `+x`.
    Sign {
        /// Whether the sign is a minus.
        negative: bool,
        /// The operand.
        operand: Box<Expr>,
    },
    /// `left op right`.
    Binary {
        /// The operator.
        operator: Operator,
        /// The left operand.
        left: Box<Expr>,
        /// The right operand.
        right: Box<Expr>,
    },
    /// `operand is type_name` or `operand as type_name`.
    TypeTest {
        /// `true` for `as`, `false` for `is`.
        cast: bool,
        /// The operand.
        operand: Box<Expr>,
        /// The type to test for.
        type_name: TypeName,
    },
}

/// A type's name, qualified or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeName {
    /// `FHIR` or `System`, if the name has one.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
    /// The byte offset of the name in the text.
    pub at: usize,
}

/// A literal as written. Dates and numbers keep their text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Literal {
    Boolean(bool),
    String(String),
    Integer(String),
    /// A 64-bit integer, without its suffix `L`.
    Long(String),
    Decimal(String),
    Date(String),
    DateTime(String),
    Time(String),
    /// A number and its unit. If `calendar` is set, the unit is a calendar unit, which is a word (`5 days`). Otherwise
    /// it is a UCUM unit, which has quotes in the expression (`5 'mg'`). `unit` is without the quotes.
    Quantity {
        value: String,
        unit: String,
        calendar: bool,
    },
}

/// The binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Operator {
    Multiply,
    Divide,
    Div,
    Mod,
    Add,
    Subtract,
    Concatenate,
    Union,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    Equivalent,
    NotEquivalent,
    In,
    Contains,
    And,
    Or,
    Xor,
    Implies,
}

impl Operator {
    /// Returns the operator as it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Div => "div",
            Operator::Mod => "mod",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Concatenate => "&",
            Operator::Union => "|",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::Equal => "=",
            Operator::NotEqual => "!=",
            Operator::Equivalent => "~",
            Operator::NotEquivalent => "!~",
            Operator::In => "in",
            Operator::Contains => "contains",
            Operator::And => "and",
            Operator::Or => "or",
            Operator::Xor => "xor",
            Operator::Implies => "implies",
        }
    }

    /// All operators.
    pub const ALL: [Operator; 22] = [
        Operator::Multiply,
        Operator::Divide,
        Operator::Div,
        Operator::Mod,
        Operator::Add,
        Operator::Subtract,
        Operator::Concatenate,
        Operator::Union,
        Operator::Less,
        Operator::LessOrEqual,
        Operator::Greater,
        Operator::GreaterOrEqual,
        Operator::Equal,
        Operator::NotEqual,
        Operator::Equivalent,
        Operator::NotEquivalent,
        Operator::In,
        Operator::Contains,
        Operator::And,
        Operator::Or,
        Operator::Xor,
        Operator::Implies,
    ];

    /// Returns the operator with this symbol.
    pub(in crate::fhirpath) fn parse(symbol: &str) -> Option<Operator> {
        Operator::ALL.into_iter().find(|operator| operator.symbol() == symbol)
    }

    /// Returns the operator's precedence (N1, section 8). An operator with a larger number binds more tightly.
    pub(in crate::fhirpath) fn precedence(self) -> u8 {
        match self {
            Operator::Multiply | Operator::Divide | Operator::Div | Operator::Mod => 10,
            Operator::Add | Operator::Subtract | Operator::Concatenate => 9,
            Operator::Union => 7,
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => 6,
            Operator::Equal | Operator::NotEqual | Operator::Equivalent | Operator::NotEquivalent => 5,
            Operator::In | Operator::Contains => 4,
            Operator::And => 3,
            Operator::Or | Operator::Xor => 2,
            Operator::Implies => 1,
        }
    }
}

/// The precedence of `is` and `as`, between addition and `|`.
pub(in crate::fhirpath) const TYPE_TEST_PRECEDENCE: u8 = 8;
