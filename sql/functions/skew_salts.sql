-- All salts of skew_salt, for the other side of a salted join: its rows of a hot key are exploded by them.
-- Example: explode(skew_salts(8))
CREATE OR REPLACE TEMPORARY FUNCTION skew_salts(
  choices INT COMMENT 'number of salts, 1 or more'
)
RETURNS ARRAY<INT>
COMMENT 'The salts 0..choices-1.'
RETURN sequence(0, choices - 1)
