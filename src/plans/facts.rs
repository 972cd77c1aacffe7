//! The facts about a plan.

/// The facts that CMS publishes about a plan of a year.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The plan's name.
    pub name: Option<String>,
    /// Its names in other publications of the year.
    pub aliases: Vec<String>,
    /// The organization that offers it, by the name that members know.
    pub organization: Option<String>,
    /// The organization's parent.
    pub parent: Option<String>,
    /// The kind of plan, such as `HMO`.
    pub kind: Option<String>,
    /// Where it is offered, in the order of states and counties.
    pub areas: Vec<Area>,
    /// Its monthly cost.
    pub premium: Option<Premium>,
    /// CMS's contact for the contract.
    pub contact: Option<Contact>,
}

/// A state or a county.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Area {
    /// The postal code of the state, or its name if the code is unknown.
    pub state: String,
    /// The county. `None` for the whole state.
    pub county: Option<String>,
}

impl Area {
    /// `Cook, IL`, or the name of a state.
    pub fn name(&self) -> String {
        match &self.county {
            Some(county) => format!("{county}, {}", self.state),
            None => super::states::name(&self.state).unwrap_or(&self.state).to_owned(),
        }
    }
}

/// Monthly premiums in dollars, as decimals.
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
    /// A person's name.
    pub name: Option<String>,
    /// The person's function.
    pub title: Option<String>,
    /// A telephone number.
    pub phone: Option<String>,
    /// An address for mail.
    pub email: Option<String>,
    /// Street and number.
    pub street: Option<String>,
    /// The city.
    pub city: Option<String>,
    /// The postal code of the state.
    pub state: Option<String>,
    /// The postal code.
    pub postal_code: Option<String>,
}
