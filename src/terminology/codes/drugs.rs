//! Answers questions about National Drug Codes from RxNorm and FDA's directory.

use super::super::terminology::Terminology;
use super::{ndc, systems};

impl Terminology {
    /// Returns the code and the display of the RxNorm concept of an NDC of 11 digits.
    pub fn rxnorm(&self, ndc: &str) -> Option<(String, Option<String>)> {
        let rxnorm = self.code_system(systems::RXNORM)?;
        let place = rxnorm.columns().2.place(ndc)?;
        let display = rxnorm.display_at(place).map(str::to_string);
        Some((rxnorm.code(place).to_string(), display))
    }

    /// Returns the RxNorm codes of the ingredients of an NDC of 11 digits, in order. Empty if they are unknown.
    pub fn ingredients(&self, ndc: &str) -> Vec<String> {
        let Some(rxnorm) = self.code_system(systems::RXNORM) else {
            return Vec::new();
        };
        let Some(place) = rxnorm.columns().2.place(ndc) else {
            return Vec::new();
        };
        let mut codes: Vec<String> = rxnorm
            .values(place, systems::INGREDIENT)
            .into_iter()
            .map(str::to_string)
            .collect();
        codes.sort_unstable_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
        codes.dedup();
        codes
    }

    /// Whether an NDC of 11 digits is known, by its package or by its product.
    pub fn knows_ndc(&self, ndc: &str) -> bool {
        if ndc::number(ndc).is_none() {
            return false;
        }
        let rxnorm = self.code_system(systems::RXNORM);
        if rxnorm.is_some_and(|rxnorm| rxnorm.columns().2.place(ndc).is_some()) {
            return true;
        }
        let directory = self.code_system(systems::NDC);
        directory.is_some_and(|directory| directory.place(ndc).is_some() || directory.place(&ndc[..9]).is_some())
    }
}
