//! The Patient compartment: the search parameters that put a resource into it. The rooms above evaluate these
//! parameters to decide whether a resource is in it.

use std::sync::OnceLock;

use super::super::facts::{TypeId, facts};

static PATIENT: &str = include_str!("../../../schemas/patient-compartment.tsv");

/// The codes of the search parameters of `ty` that refer to the Patient in whose compartment a resource is. Empty for a
/// type that is in no compartment. A Patient is also in its own compartment.
pub fn patient_params(ty: TypeId) -> &'static [&'static str] {
    static PARAMS: OnceLock<Vec<Vec<&'static str>>> = OnceLock::new();
    &PARAMS.get_or_init(read)[ty.index()]
}

fn read() -> Vec<Vec<&'static str>> {
    let mut params = vec![Vec::new(); facts().len()];
    for line in PATIENT.lines().filter(|line| !line.starts_with('#')) {
        let (ty, codes) = line.split_once('\t').expect("patient-compartment.tsv: two columns");
        let ty = facts().lookup(ty).expect("patient-compartment.tsv: a type of R4");
        params[ty.index()] = codes.split(',').collect();
    }
    params
}

#[cfg(test)]
mod tests {
    use super::super::search_parameter::{SearchParameters, SearchType};
    use super::*;

    #[test]
    fn the_parameters_of_the_compartment_are_references() {
        let parameters = SearchParameters::builtin();
        let mut members = 0;
        for ty in facts().types() {
            members += usize::from(!patient_params(ty).is_empty());
            for code in patient_params(ty) {
                let name = facts().get(ty).name;
                let parameter = parameters
                    .get(ty, code)
                    .unwrap_or_else(|| panic!("{name} has no parameter {code}"));
                assert_eq!(parameter.ty, SearchType::Reference, "{name} {code}");
            }
        }
        assert_eq!(members, 66);
    }

    #[test]
    fn members_are_told_from_others() {
        let params = |name| patient_params(facts().lookup(name).unwrap());
        assert_eq!(params("Observation"), ["subject", "performer"]);
        assert_eq!(params("Encounter"), ["patient"]);
        assert_eq!(params("Patient"), ["link"]);
        assert_eq!(params("Organization"), [""; 0]);
        assert_eq!(params("Task"), [""; 0]);
        assert_eq!(params("HumanName"), [""; 0]);
    }
}
