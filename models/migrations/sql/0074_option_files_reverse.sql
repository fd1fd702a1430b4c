-- Undo 0074_option_files. Which files of shoppers belong to which orders is lost.
DROP TABLE option_files;
ALTER TABLE options
    DROP COLUMN allowed_extensions,
    DROP COLUMN max_file_size;
