//! What is said of a plan.

/// What CMS publishes of a plan of a year.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Its name.
    pub name: Option<String>,
    /// What other publications of the year call it.
    pub aliases: Vec<String>,
    /// Who offers it, by the name that members know.
    pub organization: Option<String>,
    /// Whom that belongs to.
    pub parent: Option<String>,
    /// What kind of plan it is, such as `HMO`.
    pub kind: Option<String>,
    /// Where it is offered, in order of states and counties.
    pub areas: Vec<Area>,
    /// What it costs a month.
    pub premium: Option<Premium>,
    /// Whom CMS names for the contract.
    pub contact: Option<Contact>,
}

/// A state or a county.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Area {
    /// The postal code of the state, or its name if it is not known.
    pub state: String,
    /// The county; without one all of the state.
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
    /// Of Part C.
    pub part_c: Option<String>,
    /// Of Part D.
    pub part_d: Option<String>,
}

/// Whom CMS names for a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contact {
    /// A person's name.
    pub name: Option<String>,
    /// What the person does.
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
