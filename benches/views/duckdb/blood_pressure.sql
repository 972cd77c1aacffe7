-- columns: id VARCHAR, subject STRUCT(reference VARCHAR), effectiveDateTime VARCHAR,
--   code STRUCT(coding STRUCT("system" VARCHAR, code VARCHAR)[]),
--   component STRUCT(
--     code STRUCT(coding STRUCT("system" VARCHAR, code VARCHAR)[]),
--     valueQuantity STRUCT("value" DOUBLE, unit VARCHAR)
--   )[]
WITH components AS (
  SELECT
    id,
    split_part(subject.reference, '/', 2) AS patient,
    effectiveDateTime AS effective,
    unnest(component) AS component
  FROM resources
  WHERE len(list_filter(
    code.coding,
    lambda c: c."system" = 'http://loinc.org' AND (c.code = '85354-9' OR c.code = '55284-4')
  )) > 0
)
SELECT
  id,
  patient,
  effective,
  list_filter(component.code.coding, lambda c: c."system" = 'http://loinc.org')[1].code AS code,
  component.valueQuantity."value" AS "value",
  component.valueQuantity.unit AS unit
FROM components
