//! The facts about a plan that an answer contains.

/// The facts that CMS publishes about a plan of a year.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The plan's name.
    pub name: Option<String>,
    /// Other names of the plan, from other publications of the year.
    pub aliases: Vec<String>,
    /// The name of the organization that offers the plan, as members know it.
    pub organization: Option<String>,
    /// The name of the organization's parent.
    pub parent: Option<String>,
    /// The kind of plan, such as `HMO`.
    pub kind: Option<String>,
    /// Where the plan is offered, in the order of states and counties.
    pub areas: Vec<Area>,
    /// The monthly premium.
    pub premium: Option<Premium>,
    /// CMS's contact for the contract.
    pub contact: Option<Contact>,
}

/// A state or a county.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Area {
    /// The postal code of the state, or CMS's text for the state if it is neither a known code nor a known name.
    pub state: String,
    /// The name of the county. `None` for the whole state.
    pub county: Option<String>,
}

impl Area {
    /// Returns a text such as `Cook, IL`, or the name of the state.
    pub fn name(&self) -> String {
        match &self.county {
            Some(county) => format!("{county}, {}", self.state),
            None => super::states::name(&self.state).unwrap_or(&self.state).to_owned(),
        }
    }
}

/// The monthly premium in dollars. Amounts are decimals, such as `25.50`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Premium {
    /// The premium of Part C and Part D together.
    pub total: Option<String>,
    /// The premium of Part C.
    pub part_c: Option<String>,
    /// The premium of Part D.
    pub part_d: Option<String>,
}

/// CMS's contact for a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contact {
    /// The name of a person.
    pub name: Option<String>,
    /// The person's function.
    pub title: Option<String>,
    /// The telephone number.
    pub phone: Option<String>,
    /// The e-mail address.
    pub email: Option<String>,
    /// The street and the number.
    pub street: Option<String>,
    /// The city.
    pub city: Option<String>,
    /// The postal code of the state, such as `IL`.
    pub state: Option<String>,
    /// The postal code of the address.
    pub postal_code: Option<String>,
}
