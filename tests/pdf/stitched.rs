//! Annotations of appended pages: links stay, and all other actions go.

use lopdf::{Dictionary, Document, Object, dictionary};
use tabularium::pdf::Outcome;

use super::attachments::attachment;
use super::reading::document;

fn script() -> Dictionary {
    dictionary! { "S" => "JavaScript", "JS" => Object::string_literal("evil()") }
}

fn link(action: impl Into<Object>) -> Dictionary {
    dictionary! {
        "Type" => "Annot", "Subtype" => "Link", "Rect" => vec![0.into(), 0.into(), 9.into(), 9.into()], "A" => action,
    }
}

/// A file whose pages have these annotations.
fn file(pages: impl FnOnce(&mut Document) -> Vec<Object>) -> Vec<u8> {
    let mut file = Document::with_version("1.7");
    let root = file.new_object_id();
    let annotations = pages(&mut file);
    let kids: Vec<Object> = annotations
        .into_iter()
        .map(|annotations| {
            let page = dictionary! {
                "Type" => "Page", "Parent" => root, "Annots" => annotations,
                "MediaBox" => vec![0.into(), 0.into(), 99.into(), 99.into()],
            };
            file.add_object(page).into()
        })
        .collect();
    let count = kids.len() as i64;
    file.set_object(
        root,
        dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => count },
    );
    let catalog = file.add_object(dictionary! { "Type" => "Catalog", "Pages" => root });
    file.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    file.save_to(&mut bytes).unwrap();
    bytes
}

/// The text of all objects of the written file with appended pages.
fn stitched(inner: &[u8]) -> String {
    let mut document = document();
    document.paragraph("before");
    let outcome = document.attachment(attachment("a.pdf", Some("application/pdf"), inner));
    assert!(matches!(outcome, Outcome::Appended { .. }), "{outcome:?}");
    let read = Document::load_mem(&document.finish().unwrap()).unwrap();
    read.objects.values().map(|object| format!("{object:?}\n")).collect()
}

const FORBIDDEN: [&str; 8] = [
    "JavaScript",
    "evil",
    "Launch",
    "SubmitForm",
    "GoToR",
    "/Next ",
    "RichMediaContent",
    "/AA ",
];

/// Annotations that are parts of a page's list kept their scripts, and so did actions after a harmless one.
#[test]
fn only_links_are_left_of_actions() {
    let uri = |address: &str| dictionary! { "S" => "URI", "URI" => Object::string_literal(address) };
    let inner = file(|file| {
        let mut list: Vec<Object> = Vec::new();
        let chained = |mut first: Dictionary, next: Object| {
            first.set("Next", next);
            first
        };
        for action in [
            script(),
            dictionary! { "S" => "Launch", "F" => Object::string_literal("evil.exe") },
            dictionary! { "S" => "SubmitForm" },
            dictionary! { "S" => "GoToR", "F" => Object::string_literal("evil.pdf") },
            chained(uri("https://one.example"), script().into()),
            chained(
                dictionary! { "S" => "GoTo", "D" => vec![0.into(), "Fit".into()] },
                vec![Object::Dictionary(script())].into(),
            ),
        ] {
            // Three annotations: one directly in the list, one as an object, and one with an action that is an object.
            list.push(link(action.clone()).into());
            list.push(file.add_object(link(action.clone())).into());
            let action = file.add_object(action);
            let annotation = link(action);
            list.push(file.add_object(annotation).into());
        }
        // The name of an action may be an object, too, and a reference may lead to a reference.
        let name = file.add_object(Object::Name(b"JavaScript".to_vec()));
        let action = file.add_object(dictionary! { "S" => name, "JS" => Object::string_literal("evil()") });
        let through = file.add_object(Object::Reference(action));
        let annotation = file.add_object(link(through));
        list.push(file.add_object(Object::Reference(annotation)).into());
        // Fields of a form.
        let field = file.new_object_id();
        let events = dictionary! { "K" => script() };
        file.set_object(
            field,
            dictionary! { "T" => Object::string_literal("f"), "AA" => events.clone(), "Parent" => field },
        );
        list.push(Object::Dictionary(
            dictionary! { "Subtype" => "Widget", "Parent" => field, "AA" => events.clone() },
        ));
        list.push(Object::Dictionary(
            dictionary! { "Subtype" => "RichMedia", "RichMediaContent" => events },
        ));
        // The parent of one annotation is the list of another page.
        let other = file.add_object(vec![Object::Dictionary(link(script()))]);
        list.push(Object::Dictionary(
            dictionary! { "Subtype" => "Widget", "Parent" => other },
        ));
        let shared = file.add_object(list);
        vec![
            shared.into(),
            other.into(),
            shared.into(),
            vec![Object::Dictionary(link(uri("https://two.example")))].into(),
        ]
    });
    let all = stitched(&inner);
    for word in FORBIDDEN {
        assert!(!all.contains(word), "{word}");
    }
    assert_eq!(all.matches("https://one.example").count(), 3);
    assert_eq!(all.matches("https://two.example").count(), 1);
    // Each is a link still, with or without its action.
    assert!(
        all.matches("Link").count() >= 6 * 3 + 2,
        "{}",
        all.matches("Link").count()
    );
    assert!(all.contains("GoTo") && all.contains("Widget"));
}

#[test]
fn annotations_that_lead_in_circles_end() {
    let inner = file(|file| {
        let (list, annotation) = (file.new_object_id(), file.new_object_id());
        let mut one = link(annotation);
        one.set("Parent", annotation);
        file.set_object(annotation, one);
        file.set_object(
            list,
            vec![
                Object::Reference(annotation),
                Object::Reference(list),
                Object::Null,
                7.into(),
            ],
        );
        vec![list.into(), Object::Reference((9_999, 0)), 7.into(), Object::Null]
    });
    assert!(!stitched(&inner).is_empty());
}
