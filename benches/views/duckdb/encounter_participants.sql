-- Over Parquet three scans of a few columns are faster than one list of three kinds of elements.
WITH participants AS (
  SELECT id, class, period, unnest(participant) AS participant
  FROM resources
)
SELECT
  id,
  class.code AS class,
  period."start" AS "start",
  -- The coding of the first type that has one, as the path's first() over all codings.
  flatten(list_transform(participant.type, lambda t: t.coding))[1].code AS role,
  split_part(participant.individual.reference, '/', 2) AS who,
  participant.individual.display AS display
FROM participants
UNION ALL
SELECT id, class.code, period."start", 'subject', split_part(subject.reference, '/', 2), subject.display
FROM resources
WHERE subject IS NOT NULL
UNION ALL
SELECT id, class.code, period."start", 'provider', split_part(serviceProvider.reference, '/', 2), serviceProvider.display
FROM resources
WHERE serviceProvider IS NOT NULL
