-- columns: id VARCHAR, subject STRUCT(reference VARCHAR), onsetDateTime VARCHAR,
--   clinicalStatus STRUCT(coding STRUCT(code VARCHAR)[]),
--   code STRUCT(coding STRUCT("system" VARCHAR, code VARCHAR, display VARCHAR)[])
WITH codings AS (
  SELECT
    id,
    split_part(subject.reference, '/', 2) AS patient,
    clinicalStatus.coding[1].code AS clinical_status,
    onsetDateTime AS onset,
    unnest(code.coding) AS coding
  FROM resources
  WHERE len(list_filter(clinicalStatus.coding, lambda c: c.code = 'active' OR c.code = 'resolved')) > 0
)
SELECT id, patient, clinical_status, onset, coding."system" AS "system", coding.code AS code, coding.display AS display
FROM codings
