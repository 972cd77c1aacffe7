//! The console. Its pages show the records of all people, so no token opens one.

use super::family::family;
use crate::console::world::{Kept, Visitor, ask, pages};
use crate::harness::server::Server;

#[test]
fn no_token_of_an_application_or_a_patient_opens_the_console() {
    let server = Server::imported(&family());
    for token in [server.application_token(), server.patient_token("ann")] {
        let (bearer, cookie) = (format!("Bearer {token}"), format!("console_session={token}"));
        for header in [("authorization", bearer.as_str()), ("cookie", cookie.as_str())] {
            for path in pages(&Kept::none()) {
                let answer = ask(&server, "GET", &path, &[header], "");
                assert_eq!((answer.status, answer.text.as_str()), (303, ""), "{path} {header:?}");
                assert!(
                    answer.header("location").starts_with("/console/sign-in"),
                    "{path} {header:?}"
                );
            }
            let view = r#"view={"resource":"Patient","select":[{"column":[{"name":"id","path":"id"}]}]}"#;
            let form = [header, ("content-type", "application/x-www-form-urlencoded")];
            let answer = ask(&server, "POST", "/console/views/live/local", &form, view);
            assert!(
                answer.status == 401 && !answer.text.contains("id=\"result\""),
                "{header:?}: {}",
                answer.text
            );
        }
    }
    // An operator's session does.
    let operator = Visitor::enter(&server);
    assert!(
        operator
            .page("/console/data/live/local/Patient")
            .contains("/console/patient/live/local/ben")
    );
}
