-- Erasure. The file is written anew after one; a kill in between must not leave what was erased in unused space for good.

ALTER TABLE namespaces ADD COLUMN owes_rewrite INTEGER NOT NULL DEFAULT 0; -- 1 from an erasure to the rewrite of the file
