-- columns: id VARCHAR, patient STRUCT(reference VARCHAR), created VARCHAR,
--   item STRUCT(
--     "sequence" BIGINT,
--     productOrService STRUCT(coding STRUCT(code VARCHAR)[]),
--     net STRUCT("value" DOUBLE),
--     adjudication STRUCT(
--       category STRUCT(coding STRUCT(code VARCHAR)[]),
--       amount STRUCT("value" DOUBLE, currency VARCHAR)
--     )[]
--   )[]
WITH items AS (
  SELECT id, split_part(patient.reference, '/', 2) AS patient, created, unnest(item) AS item
  FROM resources
), adjudications AS (
  SELECT
    id,
    patient,
    created,
    item."sequence" AS "sequence",
    item.productOrService.coding[1].code AS service,
    item.net."value" AS net,
    unnest(CASE WHEN len(item.adjudication) > 0 THEN item.adjudication ELSE [NULL] END) AS adjudication
  FROM items
)
SELECT
  id,
  patient,
  created,
  "sequence",
  service,
  net,
  adjudication.category.coding[1].code AS category,
  adjudication.amount."value" AS amount,
  adjudication.amount.currency AS currency
FROM adjudications
