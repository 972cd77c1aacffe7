//! The four lookups that rules need for drugs and displays.

use tabularium::terminology::Terminology;

use super::World;
use super::files;

#[test]
fn an_ndc_leads_to_rxnorm_and_to_its_ingredients() {
    let world = World::new();
    let rxnorm = [
        world.file("RXNCONSO.RRF", files::rxnconso()),
        world.file("RXNSAT.RRF", files::rxnsat()),
        world.file("RXNREL.RRF", files::rxnrel()),
    ];
    world.load(&rxnorm.each_ref().map(String::as_str));
    world.load(&[&world.file("a", files::PRODUCTS), &world.file("b", files::PACKAGES)]);
    let terminology = Terminology::open(&world.data(), None).unwrap();
    let of = |ndc: &str| terminology.rxnorm(ndc).map(|(code, _)| code);
    let name = Some("onesine 5 MG Oral Tablet".to_owned());
    assert_eq!(terminology.rxnorm("99999000130"), Some(("2001".to_owned(), name)));
    // The current row is used, not another drug's obsolete one.
    assert_eq!(of("99998001201").as_deref(), Some("2002"));
    assert_eq!(of("99990000909"), None, "another publisher's row");
    assert_eq!(of("9999-0001-30"), None, "not 11 digits");
    assert_eq!(terminology.ingredients("99999000130"), ["161"]);
    assert_eq!(terminology.ingredients("99998001201"), ["161", "7052"]);
    // Another product of the brand has another ingredient.
    assert_eq!(terminology.ingredients("99997000111"), ["161"]);
    assert!(terminology.ingredients("12345678901").is_empty());
    for (ndc, known) in [
        ("99999000130", true),
        ("09999000130", true),
        // Another package of a product in FDA's list.
        ("09999000199", true),
        ("09999000299", false),
        ("9999000130", false),
        ("", false),
    ] {
        assert_eq!(terminology.knows_ndc(ndc), known, "{ndc}");
    }
    let ndc = "http://hl7.org/fhir/sid/ndc";
    assert_eq!(
        terminology.display(ndc, "09999000199").unwrap(),
        "Sugarless XR (glucophobe) 500 mg TABLET"
    );
    let rxnorm = "http://www.nlm.nih.gov/research/umls/rxnorm";
    assert_eq!(terminology.display(rxnorm, "3001").unwrap(), "Brandy");
    assert_eq!(terminology.display(rxnorm, "1"), None);
    assert_eq!(
        terminology
            .display("http://hl7.org/fhir/administrative-gender", "female")
            .unwrap(),
        "Female"
    );
    let found = world.lookup("ndc", "99998-0012-01");
    assert_eq!(found["rxnorm"]["code"], "2002");
    assert_eq!(found["rxnorm"]["ingredients"], serde_json::json!(["161", "7052"]));
}

#[test]
fn without_terminology_nothing_is_known_of_drugs() {
    let terminology = Terminology::default();
    assert_eq!(terminology.rxnorm("99999000130"), None);
    assert!(terminology.ingredients("99999000130").is_empty());
    assert!(!terminology.knows_ndc("99999000130"));
    assert_eq!(terminology.display("http://hl7.org/fhir/sid/ndc", "99999000130"), None);
}
