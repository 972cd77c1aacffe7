"""The texts that pdf_files.py looks for in documents: of records, by type and element, and of attached documents."""

import base64
import decimal
import html.parser
import json
import re
import unicodedata
import xml.etree.ElementTree as xml

# For each type the elements whose texts must be on the pages, all of them where there are several. The first part of a
# path is the resource's own element.
ELEMENTS = {
    "AdverseEvent": ["event", "date", "recordedDate", "seriousness", "suspectEntity.instance"],
    "AllergyIntolerance": ["code", "reaction.manifestation", "reaction.description", "recordedDate", "note"],
    "CarePlan": [
        "title",
        "category",
        "description",
        "activity.detail.code",
        "activity.detail.description",
        "period",
        "note",
    ],
    "CareTeam": ["name", "participant.member", "participant.role", "reasonCode", "period"],
    "Claim": ["type", "billablePeriod", "provider", "item.productOrService", "diagnosis.diagnosisReference", "total"],
    "CommunicationRequest": ["category", "payload.contentString", "authoredOn"],
    "Composition": ["title", "type", "date", "author", "section.title"],
    "Condition": ["code", "onsetDateTime", "abatementDateTime", "recordedDate", "severity", "bodySite", "note"],
    "Consent": ["scope", "category", "dateTime", "organization"],
    "Coverage": ["payor", "type", "subscriberId", "class.name", "period", "relationship"],
    "Device": [
        "type",
        "deviceName.name",
        "udiCarrier.carrierHRF",
        "serialNumber",
        "lotNumber",
        "modelNumber",
        "manufacturer",
        "note",
    ],
    "DeviceRequest": ["codeCodeableConcept", "authoredOn", "requester"],
    "DiagnosticReport": [
        "code",
        "effectiveDateTime",
        "effectivePeriod",
        "performer",
        "result",
        "conclusion",
        "presentedForm.title",
    ],
    "DocumentReference": ["type", "category", "description", "date", "author", "custodian", "content.attachment.title"],
    "Encounter": ["type", "period", "reasonCode", "participant.individual", "serviceProvider", "location.location"],
    "ExplanationOfBenefit": [
        "type",
        "billablePeriod",
        "item.productOrService",
        "diagnosis.diagnosisCodeableConcept",
        "diagnosis.diagnosisReference",
        "procedure.procedureCodeableConcept",
        "provider",
        "facility",
        "total.category",
        "total.amount",
        "payment.amount",
    ],
    "FamilyMemberHistory": ["relationship", "name", "condition.code"],
    "Goal": ["description", "startDate", "target.measure", "note"],
    "Group": ["name", "code", "characteristic.code"],
    "ImagingStudy": ["started", "description", "procedureCode", "series.modality", "series.bodySite"],
    "Immunization": [
        "vaccineCode",
        "occurrenceDateTime",
        "occurrenceString",
        "lotNumber",
        "performer.actor",
        "location",
        "note",
    ],
    "Location": ["name", "address", "telecom"],
    "Media": ["content.title", "createdDateTime", "modality", "bodySite"],
    "Medication": ["code"],
    "MedicationAdministration": [
        "medicationCodeableConcept",
        "medicationReference",
        "effectiveDateTime",
        "effectivePeriod",
    ],
    "MedicationDispense": [
        "medicationCodeableConcept",
        "medicationReference",
        "whenHandedOver",
        "quantity",
        "performer.actor",
    ],
    "MedicationRequest": [
        "medicationCodeableConcept",
        "medicationReference",
        "authoredOn",
        "requester",
        "dosageInstruction.text",
        "note",
    ],
    "MedicationStatement": ["medicationCodeableConcept", "medicationReference", "effectivePeriod", "dosage.text"],
    "NutritionOrder": ["dateTime", "orderer", "foodPreferenceModifier", "excludeFoodModifier", "oralDiet.type"],
    "Observation": [
        "code",
        "effectiveDateTime",
        "effectivePeriod",
        "valueQuantity",
        "valueCodeableConcept",
        "valueString",
        "component.code",
        "component.valueQuantity",
        "component.valueCodeableConcept",
        "referenceRange.text",
        "note",
    ],
    "Organization": ["name", "identifier", "telecom", "address"],
    "Patient": [
        "name",
        "birthDate",
        "identifier",
        "telecom",
        "address",
        "maritalStatus",
        "communication.language",
        "contact.name",
    ],
    "Practitioner": ["name", "identifier", "telecom", "address"],
    "PractitionerRole": ["practitioner", "organization", "code", "specialty", "telecom"],
    "Procedure": [
        "code",
        "performedPeriod",
        "performedDateTime",
        "reasonReference",
        "reasonCode",
        "bodySite",
        "performer.actor",
        "note",
    ],
    "Provenance": ["recorded", "agent.who", "agent.type", "activity"],
    "QuestionnaireResponse": [
        "authored",
        "item.text",
        "item.answer.valueCoding",
        "item.answer.valueString",
        "item.item.text",
    ],
    "RelatedPerson": ["name", "relationship", "telecom", "address", "birthDate"],
    "ServiceRequest": [
        "code",
        "category",
        "authoredOn",
        "requester",
        "reasonCode",
        "reasonReference",
        "bodySite",
        "note",
    ],
    "Specimen": ["type", "collection.collectedDateTime", "container.type"],
    "SupplyDelivery": ["type", "suppliedItem.itemCodeableConcept", "occurrenceDateTime"],
    "VisionPrescription": ["dateWritten", "prescriber", "lensSpecification.product"],
}

# Types of the sets that are in nobody's document.
NOBODYS = {
    "Binary": "the content of another record, which is looked for as an attached document",
    "Endpoint": "in no compartment, and nothing of a person",
    "Parameters": "no record: the import refuses it",
    "SearchParameter": "a definition",
    "StructureDefinition": "a definition",
    "Task": "not in R4's compartment of patients",
}

# The names of a resource, for those that refer to it.
NAMES = ["name", "deviceName.name", "code", "vaccineCode", "medicationCodeableConcept", "type", "title"]

# Units that the pages write differently.
UNITS = {
    "1": "",
    "mm[Hg]": "mmHg",
    "Cel": "°C",
    "[degF]": "°F",
    "[lb_av]": "lb",
    "[oz_av]": "oz",
    "[in_i]": "in",
    "[ft_i]": "ft",
    "[pH]": "pH",
    "[IU]": "IU",
}


def squeezed(text):
    """A text as pages are compared: without white space and soft hyphens, which lines of a column add and lose."""
    text = unicodedata.normalize("NFC", text).replace("\u00ad", "")
    return "".join(text.split())


def at(value, path):
    """The values at a path of elements."""
    values = [value]
    for step in path.split("."):
        found = [one.get(step) for one in values if isinstance(one, dict)]
        values = [item for one in found if one is not None for item in (one if isinstance(one, list) else [one])]
    return values


def wanted(resource, held):
    """The texts of a resource as (element, text). `held` has the resources that references may name, by type and id."""
    for path in ELEMENTS[resource["resourceType"]]:
        for value in at(resource, path):
            for text in texts(value, held):
                if text.strip() and text != "Unknown":
                    yield path, text


def texts(value, held):
    """The texts of a value, by its datatype's form."""
    if isinstance(value, str):
        # Of a moment, the day.
        return [value[:10] if re.fullmatch(r"\d{4}-\d\d-\d\dT.*", value) else value]
    if isinstance(value, (int, decimal.Decimal)):
        return [number(value)]
    if "coding" in value or set(value) == {"text"}:
        return concept(value)
    if "reference" in value or "display" in value and "code" not in value:
        return reference(value, held)
    if "start" in value or "end" in value:
        return [value[side][:10] for side in ("start", "end") if side in value]
    if "family" in value or "given" in value:
        return [value["text"]] if "text" in value else [*value.get("given", []), *filter(None, [value.get("family")])]
    if "line" in value or "city" in value or "postalCode" in value:
        parts = [*value.get("line", []), *(value.get(part) for part in ("city", "state", "postalCode"))]
        return [value["text"]] if "text" in value else [part for part in parts if part]
    if isinstance(value.get("value"), (int, decimal.Decimal)):
        unit = value.get("unit") or value.get("code") or value.get("currency") or ""
        return [number(value["value"]) + re.sub("[{}]", "", UNITS.get(unit, unit))]
    if "value" in value:
        return [value["value"]]
    if "text" in value:
        return [value["text"]]
    return [value[name] for name in ("display", "code") if name in value][:1]


def concept(value):
    displays = [coding.get("display") for coding in value.get("coding", [])]
    codes = [coding.get("code") for coding in value.get("coding", [])]
    return list(filter(None, [value.get("text"), *displays, *codes]))[:1]


def reference(value, held):
    """What a reference shows: its own text, or the name of the target, and never an id."""
    if "display" in value:
        return [value["display"]]
    target = held.get(value.get("reference"))
    if target is None:
        return [value["identifier"]["value"]] if "value" in value.get("identifier", {}) else []
    # A role is called by its person.
    if "practitioner" in target:
        return reference(target["practitioner"], held)
    for path in NAMES:
        found = at(target, path)
        if found:
            return texts(found[0], held)
    return []


def number(value):
    """A number as the pages write it: with three decimals if it has more than six and is not small."""
    if isinstance(value, int):
        return str(value)
    text = f"{value:f}"
    decimals = len(text.partition(".")[2])
    return f"{value:.3f}" if decimals > 6 and abs(value) >= decimal.Decimal("0.1") else text


def parsed(text):
    """JSON with the digits of its numbers."""
    return json.loads(text, parse_float=decimal.Decimal)


# The readable texts of the RTF documents.
RTF = {
    "ansicpg1250.rtf": [
        "o zapoznanie się z poniższą klauzulą informacyjną.",
        "Zgodnie z rozporządzeniem Parlamentu Europejskiego i Rady (UE) 2016/679 z dnia",
        "w sprawie ochrony osób fizycznych w związku z przetwarzaniem danych osobowych",
        "(ogólne rozporządzenie o ochronie danych), (Dz. Urz. UE L 119 z 04.05.2016 r., str. 1) informuję.",
    ],
    "calcium-score.rtf": ["Calcium-Score", "RCA", "LM", "LAD/RIVA", "CX", "Gesamt Calcium-Score"],
    "ffc.rtf": ["file format commons rtf", "0110011001101001011011000110010100"],
    "french.rtf": ["10‘000", "a 10'000", "b.", "a 10‘000 b c!", "a a a 10´000 d?"],
    "hyperlinks.rtf": ["Wikipedia", "Text", "Search"],
    "simple-table.rtf": ["foo", "bar", "1"],
    "unicode.rtf": ["柔道", "2 characters of this document have no glyph"],
}


def attached(name, content_type, data):
    """The texts of a document that its pages must have. `None` for one that is looked for by other means."""
    if data.startswith(b"%PDF") or data.startswith(b"\x89PNG"):
        return None
    if name in RTF:
        return RTF[name]
    if "xml" in content_type:
        return cda(data)
    if "html" in content_type:
        reader = Html()
        reader.feed(data.decode())
        return reader.found
    if "plain" in content_type:
        return data.decode().splitlines()
    raise AssertionError(f"{name} is {content_type}")


CDA = "{urn:hl7-org:v3}"


def cda(data):
    """The titles and narratives of a C-CDA's sections, text by text."""
    root = xml.fromstring(data)
    found = []
    for section in root.iter(f"{CDA}section"):
        for part in [*section.findall(f"{CDA}title"), *section.findall(f"{CDA}text")]:
            found += part.itertext()
    return [text for text in found if text.strip()]


def wrapped(data):
    """The document inside of a C-CDA that has no body of its own."""
    text = xml.fromstring(data).find(f".//{CDA}nonXMLBody/{CDA}text")
    if text is None:
        return None
    return text.get("mediaType"), base64.b64decode(text.text)


class Html(html.parser.HTMLParser):
    """The texts of a page."""

    def __init__(self):
        super().__init__()
        self.found, self.hidden = [], 0

    def handle_starttag(self, tag, _):
        self.hidden += tag in ("head", "style", "script")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("head", "style", "script")

    def handle_data(self, data):
        if not self.hidden and data.strip():
            self.found.append(data)
