-- about: a database of our own
-- from: 2012
-- spoken: Babelfish 4.3
CREATE DATABASE hopcost
