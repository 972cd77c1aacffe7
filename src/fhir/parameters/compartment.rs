//! The Patient compartment: the search parameters that put a resource into it. Higher modules evaluate these parameters
//! to decide whether a resource is in the compartment.

use std::sync::OnceLock;

use super::super::facts::{TypeId, facts};

static PATIENT: &str = include_str!("../../../schemas/patient-compartment.tsv");

/// Returns the codes of the search parameters that put a resource of type `type_id` into compartments. The resource is
/// in the compartment of each Patient to which a value of these parameters refers. Empty for a type that is in no
/// compartment. A Patient is also in its own compartment, without a parameter.
pub fn patient_params(type_id: TypeId) -> &'static [&'static str] {
    static PARAMS: OnceLock<Vec<Vec<&'static str>>> = OnceLock::new();
    &PARAMS.get_or_init(read)[type_id.index()]
}

fn read() -> Vec<Vec<&'static str>> {
    let mut params = vec![Vec::new(); facts().len()];
    for line in PATIENT.lines().filter(|line| !line.starts_with('#')) {
        let (resource_type, codes) = line.split_once('\t').expect("patient-compartment.tsv: two columns");
        let type_id = facts()
            .lookup(resource_type)
            .expect("patient-compartment.tsv: a type of R4");
        params[type_id.index()] = codes.split(',').collect();
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
        for type_id in facts().types() {
            members += usize::from(!patient_params(type_id).is_empty());
            for code in patient_params(type_id) {
                let name = facts().get(type_id).name;
                let parameter = parameters
                    .get(type_id, code)
                    .unwrap_or_else(|| panic!("{name} has no parameter {code}"));
                assert_eq!(parameter.search_type, SearchType::Reference, "{name} {code}");
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
