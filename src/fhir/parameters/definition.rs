//! The definition of a search parameter, as R4 has it.

use std::borrow::Cow;

use super::super::codes::codes;
use super::super::facts::TypeId;

/// A search parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchParameter {
    /// The canonical URL.
    pub url: Cow<'static, str>,
    /// The name in a query: `birthdate`.
    pub code: Cow<'static, str>,
    /// How values are compared.
    pub search_type: SearchType,
    /// The resource types for which the parameter is defined. `Resource` and `DomainResource` mean all types that
    /// specialize them.
    pub bases: Vec<TypeId>,
    /// For a parameter of type reference, the types of the targets. Empty if the definition allows all types or does
    /// not state them.
    pub targets: Vec<TypeId>,
    /// The FHIRPath expression that yields the values, with the expressions for all bases joined by `|`. `None` for a
    /// parameter that no expression describes (`_text`).
    pub expression: Option<Cow<'static, str>>,
    /// The components of a composite, in the order of their values.
    pub components: Vec<Component>,
    /// Whether a query may list alternative values (`a,b`). `None` if the definition does not say whether.
    pub multiple_or: Option<bool>,
    /// Whether a query may repeat the parameter. `None` if the definition does not say whether.
    pub multiple_and: Option<bool>,
    /// The comparators that the definition names. Empty if it names none.
    pub comparators: Vec<Comparator>,
    /// The modifiers that the definition names. Empty if it names none.
    pub modifiers: Vec<Modifier>,
    /// How the values of a resource relate to the value in a query.
    pub usage: Usage,
}

/// One part of a composite parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// The URL of the parameter that defines how the part is compared.
    pub definition: Cow<'static, str>,
    /// The FHIRPath of the part. It is evaluated on the items that the composite's own expression yields.
    pub expression: Cow<'static, str>,
}

codes! {
    /// The type of a search parameter.
    #[allow(missing_docs)]
    SearchType {
        Number = "number",
        Date = "date",
        String = "string",
        Token = "token",
        Reference = "reference",
        Composite = "composite",
        Quantity = "quantity",
        Uri = "uri",
        Special = "special",
    }
}

codes! {
    /// A prefix of a number, date or quantity.
    #[allow(missing_docs)]
    Comparator {
        Eq = "eq",
        Ne = "ne",
        Gt = "gt",
        Lt = "lt",
        Ge = "ge",
        Le = "le",
        Sa = "sa",
        Eb = "eb",
        Ap = "ap",
    }
}

codes! {
    /// A modifier that a definition allows.
    #[allow(missing_docs)]
    Modifier {
        Missing = "missing",
        Exact = "exact",
        Contains = "contains",
        Not = "not",
        Text = "text",
        In = "in",
        NotIn = "not-in",
        Below = "below",
        Above = "above",
        Type = "type",
        Identifier = "identifier",
        OfType = "ofType",
    }
}

codes! {
    /// How the values of a parameter relate to the value in a query (`xpathUsage`).
    Usage {
        /// The values are compared unchanged.
        Normal = "normal",
        /// The values sound like the value in the query.
        Phonetic = "phonetic",
        /// The values are near in space.
        Nearby = "nearby",
        /// The values lie within a distance.
        Distance = "distance",
        /// The code `other`: the values relate to the value in the query in some other way.
        Other = "other",
    }
}
