-- columns: id VARCHAR, subject STRUCT(reference VARCHAR), status VARCHAR,
--   code STRUCT(coding STRUCT(code VARCHAR, display VARCHAR)[]),
--   effectiveDateTime VARCHAR, valueQuantity STRUCT("value" DOUBLE, unit VARCHAR)
SELECT
  id,
  split_part(subject.reference, '/', 2) AS patient,
  status,
  code.coding[1].code AS code,
  code.coding[1].display AS display,
  effectiveDateTime AS effective,
  valueQuantity."value" AS "value",
  valueQuantity.unit AS unit
FROM resources
