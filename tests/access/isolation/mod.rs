//! Two people share a practitioner, an organization, a Group and a family Coverage. Each token sees its person's own
//! rows and the rows that they refer to. No request leads to a row of the other person.

mod console;
mod family;
mod searches;
mod views;
mod whole;
