//! Limits of a search: a request that would exhaust the server's stack or time is refused, and the message says what is
//! too much.

use super::corpus::{Corpus, corpus};

fn refused(corpus: &Corpus, query: &str, what: &str) {
    let error = corpus.page(&corpus.application(), query).unwrap_err();
    assert!(error.is_input(), "{error}");
    assert!(error.to_string().contains(what), "{error}");
}

fn answered(corpus: &Corpus, query: &str) {
    corpus.page(&corpus.application(), query).unwrap();
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn chains_and_has_of_many_steps() {
    let corpus = corpus();
    for (steps, fits) in [(14, true), (16, false), (200, false), (5_000, false)] {
        let chain = format!("Patient?organization.{}name=x", "partof.".repeat(steps));
        let filter = format!("Patient?_filter=organization.{}name eq x", "partof.".repeat(steps));
        let has = format!("Organization?{}name=x", "_has:Organization:partof:".repeat(steps + 1));
        for query in [chain, filter, has] {
            if fits {
                answered(corpus, &query)
            } else {
                refused(corpus, &query, "16 resources at most")
            }
        }
    }
    answered(
        corpus,
        "Patient?organization.partof.name=x&organization.partof.address=y",
    );
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn keys_of_a_sort() {
    let corpus = corpus();
    let repeated = format!("Observation?_count=5&_sort={}", "-date,code,".repeat(3_000));
    let once = corpus
        .page(&corpus.application(), "Observation?_count=5&_sort=-date,code")
        .unwrap();
    let page = corpus.page(&corpus.application(), &repeated).unwrap();
    assert_eq!(page["entry"], once["entry"]);
    let many = "_id,_lastUpdated,category,code,combo-code,component-code,date,device,encounter,method,patient,performer,specimen,\
        status,subject,value-date,value-string";
    refused(
        corpus,
        &format!("Observation?_sort={many}"),
        "16 different keys at most",
    );
}

#[test]
#[cfg_attr(not(shared_records), ignore = "needs the shared records")]
fn values_words_and_tests() {
    let corpus = corpus();
    let list = |count: usize, sep: &str, item: &str| vec![item; count].join(sep);
    let numbered = |count: usize, item: &str| {
        let items = (0..count).map(|at| item.replace('#', &at.to_string()));
        items.collect::<Vec<_>>().join(",")
    };
    refused(
        corpus,
        &format!("Observation?code:text={}", numbered(1_001, "a#")),
        "1000 values at most",
    );
    refused(
        corpus,
        &format!("Observation?code-value-quantity={}", numbered(1_001, "a#$5")),
        "1000 values at most",
    );
    answered(corpus, &format!("Observation?code:text={}", list(1_001, ",", "a")));
    answered(
        corpus,
        &format!(
            "Observation?_id={}",
            (0..5_000).map(|id| format!("x{id}")).collect::<Vec<_>>().join(",")
        ),
    );
    // Many tokens are looked up in a set. The result must equal the result for few tokens.
    let none: Vec<String> = (0..3_000).map(|code| format!("http://loinc.org|x{code}")).collect();
    for (few, resource_type) in [
        ("8302-2,http://loinc.org|8867-4", "Observation?code"),
        ("female", "Patient?gender"),
    ] {
        let found = |values: &str| {
            let page = corpus
                .page(&corpus.application(), &format!("{resource_type}={values}&_count=1000"))
                .unwrap();
            page["entry"].clone()
        };
        assert!(found(few)[0].is_object(), "{resource_type}={few}");
        assert_eq!(found(&format!("{few},{}", none.join(","))), found(few));
    }
    refused(
        corpus,
        &format!("Patient?_content={}", list(101, ",", "a")),
        "100 words at most",
    );
    answered(corpus, &format!("Patient?_content={}", list(100, ",", "a")));
    refused(
        corpus,
        &format!("Patient?_filter={}", list(201, " or ", "gender eq male")),
        "200 tests at most",
    );
    let mixed = (0..200)
        .map(|at| format!("gender eq male {} ", ["or", "and"][at % 2]))
        .collect::<String>();
    answered(
        corpus,
        &format!("Patient?_count=1&_filter={}", mixed.trim_end_matches(" and ")),
    );
}
