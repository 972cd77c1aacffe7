//! Files in publishers' layouts with invented content.

use std::io::Write;

/// A line of CMS's order files.
pub(super) fn order(number: u32, code: &str, leaf: bool, short: &str, long: &str) -> String {
    format!("{number:05} {code:<7} {} {short:<60} {long}\r\n", u8::from(leaf))
}

pub(super) fn diagnoses() -> String {
    [
        order(1, "E11", false, "Sugar trouble", "Sugar trouble of kind 2"),
        order(
            2,
            "E116",
            false,
            "Sugar trouble w oth",
            "Sugar trouble of kind 2 with other trouble",
        ),
        order(
            3,
            "E1165",
            true,
            "Sugar trouble w much sugar",
            "Sugar trouble of kind 2 with much sugar",
        ),
        order(
            4,
            "E119",
            true,
            "Sugar trouble w/o more",
            "Sugar trouble of kind 2 without more",
        ),
        order(5, "I10", true, "Pressure", "Pressure without a cause"),
    ]
    .concat()
}

pub(super) fn procedures() -> String {
    [
        order(1, "001", false, "Head, Bypass", "Head and Nerves, Bypass"),
        order(2, "0016070", true, "Bypass a room", "Bypass a Room of the Head"),
        order(3, "B20", false, "Heart, Film", "Heart, Plain Film"),
        order(4, "B2000ZZ", true, "Film of heart", "Plain Film of the Heart"),
    ]
    .concat()
}

/// A record of CMS's HCPCS file.
fn hcpcs_record(code: &str, sequence: u32, kind: char, long: &str, short: &str) -> String {
    format!("{code:>5}{sequence:05}{kind}{long:<80}{short:<28}{:<201}\r\n", "00")
}

pub(super) fn hcpcs() -> String {
    [
        "Note regarding indicators in CMS\u{2019} file\r\n\r\nThis is no indicator of anything.\r\n\r\n".to_owned(),
        hcpcs_record(
            "A0021",
            100,
            '3',
            "Ride to a house of healing outside the state, for each",
            "Outside state ride",
        ),
        hcpcs_record("A0021", 200, '4', "mile of the way", ""),
        hcpcs_record("G0439", 100, '3', "Yearly visit, a later one", "Yearly visit"),
        hcpcs_record("QX", 100, '7', "Service by a helper", "Helper"),
    ]
    .concat()
}

pub(super) const CVX: &str = "\u{feff}143       |Adeno of ours|Adeno of ours, two kinds, by mouth||Active|False|2011/03/20\r\n\
     08        |Liver B, young|Liver B made for the young|A note|Active|False|2010/05/28\r\n\
     998       |nothing given|nothing given||Inactive|True|2024/09/30\r\n";

pub(super) const CVX_XML: &str = "<?xml version='1.0' encoding='ISO-8859-1'?><CVXCodes>\n<CVXInfo>\
     <ShortDescription>Adeno &amp; more</ShortDescription>\n<FullVaccinename>Adeno and more</FullVaccinename>\n\
     <CVXCode>143       </CVXCode>\n<Notes></Notes>\n<Status>Active</Status>\n<LastUpdated>3/20/2011</LastUpdated>\n</CVXInfo></CVXCodes>";

pub(super) const CVX_PAIRS: &str = "<CVXCodes><CVXInfo><Name>Short Description</Name><Value>Liver B, young</Value>\
     <Name>Full Vaccine Name</Name><Value>Liver B made for the young</Value><Name>CVX Code</Name><Value>08</Value>\
     <Name>Status</Name><Value>Active</Value><Name>Last Updated</Name><Value>5/28/2010</Value></CVXInfo></CVXCodes>";

pub(super) const MVX: &str =
    "ACM|A company of makers||Active|2012/10/18\r\nOLD|An old company|gone|Inactive|2010/05/28\r\n";

pub(super) const PRODUCTS: &[u8] = b"PRODUCTID\tPRODUCTNDC\tPRODUCTTYPENAME\tPROPRIETARYNAME\tPROPRIETARYNAMESUFFIX\tNONPROPRIETARYNAME\t\
     DOSAGEFORMNAME\tROUTENAME\tSTARTMARKETINGDATE\tENDMARKETINGDATE\tMARKETINGCATEGORYNAME\tAPPLICATIONNUMBER\tLABELERNAME\tSUBSTANCENAME\t\
     ACTIVE_NUMERATOR_STRENGTH\tACTIVE_INGRED_UNIT\tPHARM_CLASSES\tDEASCHEDULE\tNDC_EXCLUDE_FLAG\tLISTING_RECORD_CERTIFIED_THROUGH\r\n\
     9999-0001_x\t9999-0001\tHUMAN PRESCRIPTION DRUG\tSugarless\tXR\tglucophobe\tTABLET\tORAL\t20200101\t\tNDA\tNDA000001\tCaf\xe9 Labs\t\
     GLUCOPHOBE\t500\tmg/1\t\t\tN\t20261231\r\n\
     99998-012_y\t99998-012\tHUMAN OTC DRUG\tTwoinone\t\tone and two\tCAPSULE\tORAL\t20200101\t\tNDA\tNDA000002\tOurs\t\
     ONE; TWO\t5; 10\tmg/1; mg/mL\t\t\tN\t20261231\r\n";

pub(super) const PACKAGES: &str = "PRODUCTID\tPRODUCTNDC\tNDCPACKAGECODE\tPACKAGEDESCRIPTION\tSTARTMARKETINGDATE\tENDMARKETINGDATE\t\
     NDC_EXCLUDE_FLAG\tSAMPLE_PACKAGE\r\n\
     9999-0001_x\t9999-0001\t9999-0001-30\t30 TABLET in 1 BOTTLE\t20200101\t\tN\tN\r\n";

fn concept(code: &str, source: &str, term_type: &str, name: &str, suppress: &str) -> String {
    format!("{code}|ENG||||||{code}1|{code}1|{code}||{source}|{term_type}|{code}|{name}||{suppress}|4096|\n")
}

/// Two ingredients; a drug of one, its brand, and a drug of both; another publisher's row.
pub(super) fn rxnconso() -> String {
    [
        concept("161", "RXNORM", "IN", "onesine", "N"),
        concept("7052", "RXNORM", "IN", "twosine", "N"),
        concept("1001", "RXNORM", "SCDC", "onesine 5 MG", "N"),
        concept("1002", "RXNORM", "SCDC", "twosine 10 MG", "N"),
        concept("2001", "RXNORM", "SY", "onesine 5mg tab", "N"),
        concept("2001", "RXNORM", "SCD", "onesine 5 MG Oral Tablet", "N"),
        concept("2001", "RXNORM", "PSN", "onesine 5 mg tablet", "N"),
        concept("2002", "RXNORM", "SCD", "onesine 5 MG / twosine 10 MG Oral Tablet", "N"),
        concept("3001", "RXNORM", "BN", "Brandy", "N"),
        concept("3002", "RXNORM", "SBD", "onesine 5 MG Oral Tablet [Brandy]", "N"),
        concept("3001", "OTHERS", "BD", "Brandy of others", "N"),
    ]
    .concat()
}

fn attribute(code: &str, name: &str, source: &str, value: &str, suppress: &str) -> String {
    format!("{code}|||{code}1|AUI|{code}|AT1||{name}|{source}|{value}|{suppress}|4096|\n")
}

pub(super) fn rxnsat() -> String {
    [
        attribute("2001", "NDC", "RXNORM", "99999000130", "N"),
        attribute("2002", "NDC", "RXNORM", "99998001201", "N"),
        attribute("2001", "NDC", "RXNORM", "99998001201", "O"),
        attribute("3002", "NDC", "RXNORM", "99997000111", "N"),
        attribute("2001", "NDC", "MTHSPL", "9999-0009-09", "N"),
        attribute("2001", "RXN_STRENGTH", "RXNORM", "5 MG", "N"),
    ]
    .concat()
}

/// A relation: `drug` has `name` to `part`.
fn relation(part: &str, drug: &str, name: &str) -> String {
    format!("{part}||CUI|RO|{drug}||CUI|{name}|1||RXNORM|RXNORM|||N|4096|\n")
}

pub(super) fn rxnrel() -> String {
    [
        relation("161", "1001", "has_ingredient"),
        relation("1001", "161", "ingredient_of"),
        relation("7052", "1002", "has_ingredient"),
        relation("1001", "2001", "consists_of"),
        relation("1001", "2002", "consists_of"),
        relation("1002", "2002", "consists_of"),
        relation("2001", "3002", "tradename_of"),
        relation("3001", "3002", "has_ingredient"),
        // The brand has another product with the other ingredient.
        relation("7052", "3001", "tradename_of"),
    ]
    .concat()
}

pub(super) const LOINC: &str = "\"LOINC_NUM\",\"COMPONENT\",\"PROPERTY\",\"TIME_ASPCT\",\"SYSTEM\",\"SCALE_TYP\",\"METHOD_TYP\",\"CLASS\",\
     \"VersionLastChanged\",\"STATUS\",\"CLASSTYPE\",\"SHORTNAME\",\"LONG_COMMON_NAME\"\r\n\
     \"99991-0\",\"Height, standing\",\"Len\",\"Pt\",\"Who\",\"Qn\",\"\",\"TALL\",\"2.76\",\"ACTIVE\",\"2\",\"Height\",\"How tall\nsomebody is\"\r\n\
     \"99992-8\",\"Weight\",\"Mass\",\"Pt\",\"Who\",\"Qn\",\"\",\"HEAVY\",\"2.9\",\"DEPRECATED\",\"2\",\"Weight\",\"How heavy somebody is\"\r\n";

pub(super) const SNOMED_CONCEPTS: &str = "id\teffectiveTime\tactive\tmoduleId\tdefinitionStatusId\r\n\
     138875005\t20020131\t1\t900000000000207008\t900000000000074008\r\n\
     1001000\t20230901\t1\t900000000000207008\t900000000000074008\r\n\
     1002000\t20240301\t1\t900000000000207008\t900000000000074008\r\n\
     1003000\t20240301\t0\t900000000000207008\t900000000000074008\r\n";

fn description(id: u32, active: bool, concept: &str, language: &str, kind: &str, term: &str) -> String {
    let active = u8::from(active);
    format!(
        "{id}\t20240301\t{active}\t900000000000207008\t{concept}\t{language}\t{kind}\t{term}\t900000000000448009\r\n"
    )
}

pub(super) fn snomed_descriptions() -> String {
    let (full, synonym) = ("900000000000003001", "900000000000013009");
    [
        "id\teffectiveTime\tactive\tmoduleId\tconceptId\tlanguageCode\ttypeId\tterm\tcaseSignificanceId\r\n".to_owned(),
        description(1, true, "138875005", "en", full, "All there is"),
        description(2, true, "1001000", "en", synonym, "A finding"),
        description(3, true, "1001000", "en", full, "A finding (finding)"),
        description(4, false, "1002000", "en", full, "A name of old (finding)"),
        description(5, true, "1002000", "es", full, "Otro"),
        description(6, true, "1002000", "en", synonym, "A kind of finding"),
    ]
    .concat()
}

fn is_a(id: u32, active: bool, child: &str, parent: &str, characteristic: &str) -> String {
    let active = u8::from(active);
    format!(
        "{id}\t20240301\t{active}\t900000000000207008\t{child}\t{parent}\t0\t116680003\t{characteristic}\t900000000000451002\r\n"
    )
}

pub(super) fn snomed_relations() -> String {
    let (inferred, stated) = ("900000000000011006", "900000000000010007");
    [
        "id\teffectiveTime\tactive\tmoduleId\tsourceId\tdestinationId\trelationshipGroup\ttypeId\tcharacteristicTypeId\tmodifierId\r\n"
            .to_owned(),
        is_a(1, true, "1001000", "138875005", inferred),
        is_a(2, true, "1002000", "1001000", inferred),
        is_a(3, false, "1001000", "1002000", inferred),
        is_a(4, true, "1003000", "1002000", stated),
    ]
    .concat()
}

pub(super) const NUCC: &str = "Code,Grouping,Classification,Specialization,Definition,Notes,Display Name,Section\r\n\
     999Q00000X,Healers,House Healer,,\"Heals, at home\",,House Healing Healer,Individual\r\n\
     999QA0000X,Healers,House Healer,Young People,,,,Individual\r\n";

pub(super) const PLACES: &str = "Place of Service Codes for Professional Claims,,\r\n\
     \"Place of Service Code(s)\",\"Place of Service Name\",\"Place of Service Description\"\r\n\
     1,Drug shop,\"Where drugs, and more, are sold\"\r\n11,Office room,Rooms\r\n28-30,Unassigned,N/A\r\n";

/// A ZIP archive of these files.
pub(super) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, content) in files {
        archive.start_file(*name, options).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A FHIR package of these files.
pub(super) fn package(files: &[(&str, &str)]) -> Vec<u8> {
    let gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(gzip);
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, content.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}
