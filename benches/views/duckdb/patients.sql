-- columns: id VARCHAR, gender VARCHAR, birthDate VARCHAR, deceasedDateTime VARCHAR,
--   name STRUCT("use" VARCHAR, family VARCHAR, given VARCHAR[])[],
--   address STRUCT(city VARCHAR, state VARCHAR, postalCode VARCHAR)[],
--   extension STRUCT(url VARCHAR, extension STRUCT(url VARCHAR, valueCoding STRUCT(code VARCHAR))[])[]
SELECT
  id,
  gender,
  birthDate AS birth_date,
  list_filter(name, lambda n: n."use" = 'official')[1].family AS family,
  list_filter(name, lambda n: n."use" = 'official')[1].given[1] AS given,
  list_filter(
    list_filter(extension, lambda e: e.url = 'http://hl7.org/fhir/us/core/StructureDefinition/us-core-race')[1].extension,
    lambda e: e.url = 'ombCategory'
  )[1].valueCoding.code AS race,
  address[1].city AS city,
  address[1].state AS state,
  address[1].postalCode AS postal_code,
  deceasedDateTime AS deceased
FROM resources
WHERE gender = 'female' AND birthDate < '2008'
